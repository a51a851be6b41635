"""Says why a training step takes as long as it does, what each fix would give back, and how sure that is.

``diagnose(path)`` gives a Report; ``catalogue()`` lists what can be found, ``examples()`` what that looks like.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analyze.findings.examples import Example
    from analyze.findings.model import Detector, Report

__all__ = ["catalogue", "diagnose", "examples"]


def diagnose(*paths: str, **options: Any) -> Report:  # noqa: ANN401 - documented in analyze.diagnosis.diagnose
    """Diagnose a run directory, trace files, a folder, an archive or a URL; options as in analyze.diagnosis.diagnose."""
    from analyze.diagnosis import diagnose as run  # noqa: PLC0415 - keeps `import analyze` light

    return run(*paths, **options)


def catalogue() -> tuple[Detector, ...]:
    """Every detector's description, by id."""
    from analyze.engine import detectors  # noqa: PLC0415 - keeps `import analyze` light

    return tuple(detector for _, (detector, _) in sorted(detectors().items()))


def examples() -> dict[str, Example]:
    """Return a real finding of each detector that a sample run shows, by the detector's id."""
    from analyze.findings.examples import examples as stored  # noqa: PLC0415 - keeps `import analyze` light

    return stored()
