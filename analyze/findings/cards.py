"""How is a GPU called that telemetry knows by its UUID only? By its CUDA index where the manifest tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

#: enough of a UUID to tell the cards of a host apart: 'GPU-' and eight digits
SHORT_UUID = 12


def card_name(device_uuid: str | None, manifest: Mapping[str, Any] | None) -> str:
    """'GPU 0' or 'GPU-1a2b3c4d'."""
    device = device_of(device_uuid, manifest)
    return f"GPU {device['index']}" if device and device.get("index") is not None else (device_uuid or "GPU")[:SHORT_UUID]


def device_of(device_uuid: str | None, manifest: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The manifest's entry of a device; None where it is not one that the run could use."""
    devices = (manifest or {}).get("devices") or []
    return next((device for device in devices if device_uuid is not None and device.get("uuid") == device_uuid), None)
