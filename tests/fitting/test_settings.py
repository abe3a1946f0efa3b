import pytest

from lodestar.fitting import fit_settings


def test_the_paper_preset_is_the_papers_appendix():
    made = fit_settings("paper")
    shape = made.architecture
    assert (shape.encoder, shape.latent, shape.hidden) == ("ode-rnn", 20, 20)
    assert (shape.field_width, shape.field_depth) == (20, 2)
    assert (shape.solver, shape.rtol, shape.atol) == ("tsit5", 1e-5, 1e-5)
    assert (made.batch, made.peak_lr, made.updates, made.bits, made.members) == (20, 1e-3, 50_000, 64, 1)


def test_settings_and_architecture_are_changed_by_name():
    made = fit_settings("default", updates=7, latent=9, encoder="ode-rnn")
    assert (made.updates, made.architecture.latent, made.architecture.encoder) == (7, 9, "ode-rnn")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"latnet": 3}, "there is no fit setting 'latnet'"),
        ({"updates": 0}, "updates: .* got 0"),
        ({"peak_lr": -1.0}, "peak_lr: .* got -1.0"),
        ({"encoder": "lstm"}, "encoder must be one of gru, ode-rnn, got 'lstm'"),
        ({"latent": 0}, "latent must be a whole number from 1 to 4096, got 0"),
    ],
)
def test_a_bad_setting_is_named_with_its_rule_and_value(changes, says):
    with pytest.raises(ValueError, match=says):
        fit_settings("default", **changes)


def test_an_unknown_preset_is_refused():
    with pytest.raises(ValueError, match="preset must be one of default, paper"):
        fit_settings("turbo")  # pyright: ignore[reportArgumentType]
