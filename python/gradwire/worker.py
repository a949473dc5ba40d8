"""A thread that runs tasks in order."""

import queue
import threading
from typing import Any, Callable, List, Optional


class Worker:
    """Tasks must not raise."""

    def __init__(self, name: str) -> None:
        self._tasks: "queue.SimpleQueue[Optional[Callable[[], None]]]" = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, task: Callable[[], None]) -> None:
        self._tasks.put(task)

    def wait(self) -> None:
        """Waits until all tasks are done."""
        done = threading.Event()
        self._tasks.put(done.set)
        done.wait()

    def call(self, task: Callable[[], Any]) -> Any:
        """Runs a task after all others and returns its result. Unlike other tasks, it may raise."""
        results: List[Any] = []
        failures: List[BaseException] = []

        def run() -> None:
            try:
                results.append(task())
            except BaseException as error:  # it is for who waits
                failures.append(error)

        self.put(run)
        self.wait()
        if failures:
            raise failures[0]
        return results[0]

    def stop(self, seconds: Optional[float] = None) -> bool:
        """Ends the thread after its tasks. Whether it has ended within that time."""
        self._tasks.put(None)
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while True:
            task = self._tasks.get()
            if task is None:
                return
            task()
            del task  # its gradients are not kept until the next task
