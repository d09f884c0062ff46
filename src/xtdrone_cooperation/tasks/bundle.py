"""One vehicle's side of the consensus-based bundle algorithm (CBBA).

Each vehicle takes tasks into its bundle as long as it bids more for them than anybody of whom it
has heard, and tells its neighbours who wins what by which bid, and how new its news of everybody
is. By the rules for conflicts all come to the same winners without a conflict, whoever hears whom
how late. After Choi, Brunet and How (IEEE Transactions on Robotics, 2009); bids are never higher
than those of the tasks before them in the bundle, so that the rules converge for ways whose
lengths are no submodular score (Johnson, Choi and How, 2012).
"""

import numpy as np

from xtdrone_core.runs.snapshot import Memory

from .ways import Ways

NOBODY = -1
_WORTH = 1e5  # bid for a task without a way [m]
_BEGUN = 1e9  # bid for a task that its vehicle has begun
_SAME = 1e-9  # bids that differ by less are equal


class Bundle(Memory):
    """What one vehicle takes on, and what it knows of the others.

    Attributes:
        path: Its tasks in the order in which it does them.
        winner: (T,) who does each task by what it knows, NOBODY for none.
        bid: (T,) and by which bid.
        done: (T,) tasks that somebody has done.
        current: The task that it has begun, or NOBODY.
    """

    MEMORY = ("path", "winner", "bid", "done", "current", "_bundle", "_stamp")

    def __init__(self, index: int, n: int, ways: Ways) -> None:
        """A vehicle that has heard nothing.

        Args:
            index: Its number in the fleet.
            n: Vehicles in the fleet.
            ways: Between the tasks.
        """
        count = len(ways)
        self.index, self.ways = index, ways
        self.path: list[int] = []
        self.winner = np.full(count, NOBODY)
        self.bid = np.zeros(count)
        self.done = np.zeros(count, dtype=np.bool_)
        self.current = NOBODY
        self._bundle: list[int] = []  # in the order in which they were taken
        self._stamp = np.zeros(n)  # when the newest news of each vehicle was sent [us]

    def packet(self, pos: np.ndarray) -> np.ndarray:
        """Returns what it tells (P,), from where it is (3,) [m]."""
        return np.concatenate([pos, self.winner, self.bid, self.done, self._stamp])

    def hear(self, sender: int, packet: np.ndarray, sent_us: int) -> None:
        """Takes a packet of another vehicle, sent at a time [us]; an old one changes nothing."""
        if sent_us <= self._stamp[sender]:
            return
        winner, bid, done, stamp = np.split(packet[3:], np.cumsum([len(self.ways)] * 3))
        update, forget = self._conflicts(sender, winner.astype(int), bid, stamp)
        self.winner[update], self.bid[update] = winner[update].astype(int), bid[update]
        self.winner[forget], self.bid[forget] = NOBODY, 0.0
        self.done |= done > 0.0
        self._stamp = np.maximum(self._stamp, stamp)
        self._stamp[sender] = sent_us
        self._release()

    def forget_the_silent(self, before_us: int) -> list[int]:
        """Frees the tasks of those of whom nothing newer is known than a time [us].

        Returns:
            Those vehicles.
        """
        silent = [j for j, stamp in enumerate(self._stamp) if j != self.index and stamp < before_us]
        free = np.isin(self.winner, silent) & ~self.done
        self.winner[free], self.bid[free] = NOBODY, 0.0
        return silent

    def build(self, place: np.ndarray, most: int) -> None:
        """Takes on what it can do with the least detour of all that it knows of.

        Args:
            place: (2,) where its way to the next task begins [m].
            most: So many tasks at most.
        """
        while len(self._bundle) < most:
            fixed = int(self.current != NOBODY)
            detours = self.ways.detours(place, self.path, fixed)
            worth = _WORTH - detours.min(axis=0)
            bids = np.minimum(worth, min((self.bid[task] for task in self._bundle), default=_WORTH))
            free = ~self.done & ~np.isin(np.arange(len(self.ways)), self.path)
            wins = free & self._is_higher(bids, self.index, self.bid, self.winner)
            if not wins.any():
                return
            task = int(np.argmax(np.where(wins, worth, -np.inf)))
            self.path.insert(fixed + int(detours[:, task].argmin()), task)
            self._bundle.append(task)
            self.winner[task], self.bid[task] = self.index, bids[task]

    def take(self, path: list[int]) -> None:
        """Takes on what somebody else has assigned, behind what it has begun."""
        begun = [self.current] if self.current != NOBODY else []
        self.path = begun + [task for task in path if task not in begun]
        self._bundle = self.path.copy()
        self.winner[self.path], self.bid[self.path] = self.index, _WORTH

    def begin(self) -> int:
        """Begins its next task, which nobody takes away any more; NOBODY if there is none."""
        if self.path:
            self.current = self.path[0]
            self.bid[self.current] = _BEGUN
            self._bundle.remove(self.current)
            self._bundle.insert(0, self.current)
        return self.current

    def finish(self) -> None:
        """Has done what it had begun."""
        self.done[self.current] = True
        self.current = NOBODY
        self._release()

    @staticmethod
    def _is_higher(
        bid: np.ndarray, bidder: int | np.ndarray, other: np.ndarray, holder: np.ndarray
    ) -> np.ndarray:
        """Whether a bid wins over that of the holder; of equal ones that of the lower number."""
        equal = np.abs(bid - other) <= _SAME
        return (holder == NOBODY) | (bid > other + _SAME) | (equal & (bidder < holder))

    def _conflicts(
        self, sender: int, winner: np.ndarray, bid: np.ndarray, stamp: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Applies the table of rules: which tasks (T,) are as the sender says, which are free."""
        own, newer = self.winner, stamp > self._stamp
        told_newer = np.where(winner >= 0, newer[winner], False)  # of whom the sender names
        own_newer = np.where(own >= 0, newer[own], False)  # of whom this vehicle has named
        told_older = np.where(winner >= 0, self._stamp[winner] > stamp[winner], False)
        higher = self._is_higher(bid, winner, self.bid, own)
        mine, his, none = own == self.index, own == sender, own == NOBODY
        third = ~(mine | his | none)
        says_self, says_me, says_none = winner == sender, winner == self.index, winner == NOBODY
        says_third = ~(says_self | says_me | says_none)
        same = third & (own == winner)
        another = third & ~same
        update = says_self & (his | none | (mine & higher) | (third & (own_newer | higher)))
        update |= says_third & told_newer & (his | none | same | (mine & higher))
        update |= says_third & another & told_newer & (own_newer | higher)
        update |= says_none & (his | (third & own_newer))
        forget = says_me & (his | (third & own_newer))
        forget |= says_third & ~told_newer & his
        forget |= says_third & another & own_newer & told_older
        return update, forget & ~update

    def _release(self) -> None:
        """Leaves what others do or have done, and what was taken after it."""
        kept: list[int] = []
        outbid = False
        for task in self._bundle:
            if self.done[task]:
                continue
            outbid |= self.winner[task] != self.index
            if not outbid:
                kept.append(task)
            elif self.winner[task] == self.index:
                self.winner[task], self.bid[task] = NOBODY, 0.0
        self._bundle = kept
        self.path = [task for task in self.path if task in kept]
        if self.current not in kept:
            self.current = NOBODY
