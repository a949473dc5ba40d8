"""A thread that runs tasks in order."""

import queue
import threading
from typing import Any, Callable, List, Optional, Tuple

Tasks = Tuple[Callable[[], None], ...]


class Worker:
    """Tasks must not raise."""

    def __init__(self, name: str) -> None:
        self._tasks: "queue.SimpleQueue[Optional[Tasks]]" = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, *tasks: Callable[[], None]) -> None:
        self._tasks.put(tasks)

    def wait(self) -> None:
        """Waits until all tasks are done."""
        done = threading.Event()
        self.put(done.set)
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
            tasks = self._tasks.get()
            if tasks is None:
                return
            for task in tasks:
                task()
            del task, tasks  # their gradients are not kept until the next task
