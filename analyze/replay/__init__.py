"""The what-if engine: rebuilds the recorded window from its dependencies and replays it with an edit."""

from analyze.replay.replay import Edit, Replay, Saving, replay

__all__ = ["Edit", "Replay", "Saving", "replay"]
