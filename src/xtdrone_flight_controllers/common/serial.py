"""Serial devices of flight controllers: opened raw, read and written without waiting."""

import fcntl
import os
import stat
import termios
import tty

from xtdrone_autopilot.errors import AutopilotError

BAUD = 921_600  # where none is given
BAUDS = tuple(
    sorted(
        int(name[1:])
        for name in dir(termios)
        if name.startswith("B") and name[1:].isdecimal() and name != "B0"
    )
)
_CHUNK = 65536


class SerialGone(AutopilotError):
    """A device that is not there any more, such as an unplugged one."""


def parse_devices(text: str, n: int) -> list[tuple[str, int]]:
    """The serial devices of a fleet.

    Args:
        text: `DEVICE[:BAUD]` for each vehicle, separated by commas.
        n: Number of vehicles.

    Returns:
        (device, baud rate) of each vehicle.

    Raises:
        AutopilotError: Not one device for each vehicle, one twice, or no such baud rate.
    """
    devices = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        device, colon, baud = item.rpartition(":")
        if not (colon and baud.isdecimal()):  # names in /dev/serial/by-path have colons
            device, baud = item, str(BAUD)
        if int(baud) not in BAUDS:
            raise AutopilotError(
                f"baud rate {baud} of '{device}' is not allowed: give one of "
                f"{', '.join(map(str, BAUDS[-18:]))}"
            )
        devices.append((device, int(baud)))
    if len(devices) != n:
        raise AutopilotError(
            f"serial '{text}' names {len(devices)} devices for {n} vehicles: give "
            "DEVICE[:BAUD] of each, separated by commas, such as "
            f"/dev/ttyACM0:{BAUD}"
        )
    twice = [device for k, (device, _) in enumerate(devices) if device in dict(devices[:k])]
    if twice:
        raise AutopilotError(
            f"serial names '{twice[0]}' twice: each vehicle needs a flight controller of its own"
        )
    return devices


class SerialPort:
    """One serial device, in raw mode, which this process has for itself."""

    def __init__(self, device: str, baud: int):
        """Opens the device.

        Args:
            device: Its path.
            baud: One of BAUDS; without effect on USB and on pseudo-terminals.

        Raises:
            AutopilotError: It is not there, is no serial device, or another program has it.
        """
        self.device, self.baud = device, baud
        self._left = b""  # bytes that the device has not taken yet
        try:
            self._fd = os.open(device, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        except OSError as error:
            raise AutopilotError(
                f"cannot open serial device '{device}': {error.strerror}{_advice(error)}"
            ) from error
        try:
            self._configure()
        except BaseException:
            os.close(self._fd)
            raise

    def fileno(self) -> int:
        """File descriptor, to wait on."""
        return self._fd

    def read(self) -> bytes:
        """Reads the bytes that have come, perhaps none.

        Raises:
            SerialGone: The device is not there any more.
        """
        try:
            data = os.read(self._fd, _CHUNK)
        except BlockingIOError:
            return b""
        except OSError as error:
            raise self._gone(error.strerror) from error
        if not data:
            raise self._gone("hung up")
        return data

    def write(self, data: bytes) -> bool:
        """Sends bytes, all or none of them.

        Returns:
            False if the device has not taken those before yet: then these are dropped.

        Raises:
            SerialGone: The device is not there any more.
        """
        self._left = self._push(self._left)
        if self._left:
            return False
        self._left = self._push(data)
        return True

    def close(self) -> None:
        """Closes the device. May be called twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _configure(self) -> None:
        if not stat.S_ISCHR(os.fstat(self._fd).st_mode) or not os.isatty(self._fd):
            raise AutopilotError(
                f"'{self.device}' is no serial device: give one such as "
                "/dev/ttyACM0 or /dev/ttyUSB0"
            )
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise AutopilotError(
                f"serial device '{self.device}' is in use by another program: stop it first"
            ) from error
        tty.setraw(self._fd)
        values = termios.tcgetattr(self._fd)
        values[4] = values[5] = getattr(termios, f"B{self.baud}")
        values[2] |= termios.CLOCAL | termios.CREAD
        termios.tcsetattr(self._fd, termios.TCSANOW, values)

    def _push(self, data: bytes) -> bytes:
        """Writes what the device takes; returns the rest."""
        if not data:
            return data
        try:
            return data[os.write(self._fd, data) :]
        except BlockingIOError:
            return data
        except OSError as error:
            raise self._gone(error.strerror) from error

    def _gone(self, why: str | None) -> SerialGone:
        return SerialGone(f"its serial device '{self.device}' is gone ({why}): was it unplugged?")


def _advice(error: OSError) -> str:
    """Suggests a remedy for an error of open()."""
    if isinstance(error, FileNotFoundError):
        return "; is it plugged in? 'ls /dev/serial/by-id' shows those that are"
    if isinstance(error, PermissionError):
        return "; join the group that owns it (sudo usermod -aG dialout $USER), and log in again"
    return ""
