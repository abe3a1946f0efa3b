"""The arena: a change to the method judged in minutes, with many seeds in one program.

`contestant` says who takes part, `study` lists the ablations, `judge` makes sweep, fit, tuning and final runs,
`home` keeps them, `standings` compares. `crowd` and `lockstep` are the program that many runs share.
"""
