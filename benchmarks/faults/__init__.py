"""Training loops with a planted fault, as somebody wrote them and with the fix: the experiment behind every saving."""
