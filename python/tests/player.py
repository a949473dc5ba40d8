"""One rank of a test: plays a scenario, and writes what it returns; see ranks.py."""

import json
import sys

import torch
import torch.distributed as dist

import failing_scenarios
import host_scenarios
import lazy_scenarios
import scenarios
import sharded_scenarios


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="env://")
    name, arguments, path = sys.argv[1:]
    rooms = (scenarios, failing_scenarios, lazy_scenarios, sharded_scenarios, host_scenarios)
    scenario = next(getattr(room, name) for room in rooms if hasattr(room, name))
    result = scenario(**json.loads(arguments))
    with open(path, "w") as file:
        json.dump(result, file)


if __name__ == "__main__":
    main()
