"""A reader in C for sound stretches of a trace, built at installation where there is a compiler; never needed for an answer."""
