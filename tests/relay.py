"""Runs of the command without its imports: a server has imported everything, and forks for each of them.

``python -I -S tests/relay.py SOCKET ARGUMENT...`` stands for ``python -m derivlint ARGUMENT...``. It hands its streams,
folder and variables to the server, and ends when the fork ends, with its status; when it is killed, so is the fork.
Tests of how a process starts do without.
"""

from __future__ import annotations

import json
import os
import socket
import sys

#: The length of the message, in bytes, and of the exit status.
SIZE = 8


def main() -> None:
    """Hand everything over, and wait."""
    path, *arguments = sys.argv[1:]
    message = json.dumps([arguments, os.getcwd(), dict(os.environ)]).encode()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        socket.send_fds(connection, [len(message).to_bytes(SIZE, "big")], [0, 1, 2])
        connection.sendall(message)
        # the pipes end with the fork
        for number in (0, 1, 2):
            os.close(number)
        status = connection.recv(SIZE)
    os._exit(int.from_bytes(status, "big") if status else 1)


if __name__ == "__main__":
    main()
