"""One browser session: what it opened, its uploads, and what happens to both when it ends."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from analyze.errors import InputError
from views.shell.diagnosis import Diagnosis, diagnosis
from views.shell.uploads import PrivateFolder

if TYPE_CHECKING:
    from views.shell.source import Source

SOURCE = "source"


@dataclass(kw_only=True)
class Session:
    """What must be given back when the session ends."""

    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    uploads: PrivateFolder = field(default_factory=PrivateFolder)
    watched: list[Diagnosis] = field(default_factory=list)

    def close(self) -> None:
        """Leave every diagnosis and remove uploads."""
        for one in self.watched:
            one.leave(self.id)
        self.uploads.close()


@st.cache_resource(scope="session", show_spinner=False, on_release=Session.close)
def session() -> Session:
    """Return this browser session's own store; Streamlit releases it with the session."""
    return Session()


def current_source() -> Source | None:
    """What this session has open, if anything."""
    return st.session_state.get(SOURCE)


def open_source(source: Source) -> None:
    """Make this what the session looks at, in place of what it waited for."""
    close_source()
    st.session_state[SOURCE] = source


def close_source() -> None:
    """Look at nothing; what is under way and nobody else waits for ends at once, what failed may be tried again."""
    source = st.session_state.pop(SOURCE, None)
    if source is None:
        return
    mine = session()
    for one in [one for one in mine.watched if one.state != "done"]:
        one.leave(mine.id)
        mine.watched.remove(one)
    if source.upload is not None:
        mine.uploads.forget(source.upload)


def current_diagnosis(source: Source) -> Diagnosis:
    """Return the diagnosis of what is open, started where it is not. Raises InputError where an upload is gone."""
    mine = session()
    one = diagnosis(source.report_key, source.paths, source.options)
    if one not in mine.watched:
        mine.watched.append(one)
        one.watch(mine.id)
    if source.upload is not None:
        if one.state == "running" and not Path(source.paths[0]).exists():
            # It was read and let go to make room for others.
            raise InputError("This upload is no longer held in memory: upload it again.")
        if one.state != "running":
            mine.uploads.forget(source.upload)
    return one
