"""Secrets: ranks that have the same one train, and all others are told why they cannot."""

import os
import secrets
import tempfile
import unittest
from pathlib import Path

import gradwire
from gradwire.security import Security
from ranks import play, results


class Secrets(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)

    def file(self, name, mode=0o600):
        path = self.directory / name
        path.write_text(f"gradwire-secret-1 {secrets.token_hex(32)}\n")
        os.chmod(path, mode)
        return str(path)

    def test_ranks_with_the_same_secret_train(self):
        ours = self.file("ours")
        plain = results("with_secrets", 2, given=[None, None])
        self.assertEqual(results("with_secrets", 2, given=[ours, ours]), plain)
        as_bytes = "bytes:" + Path(ours).read_text().split()[1]
        self.assertEqual(results("with_secrets", 2, given=[as_bytes, ours]), plain)
        by_environment = results("with_secrets", 2, given=[ours, ours], by_environment=True)
        self.assertEqual(by_environment, plain)

    def test_different_secrets_are_told_on_both_ranks(self):
        ours, theirs = self.file("ours"), self.file("theirs")
        for message in results("with_secrets", 2, given=[ours, theirs]):
            self.assertIn("another secret", message)
            self.assertNotIn(Path(ours).read_text().split()[1], message)

    def test_a_missing_secret_is_told_on_both_ranks(self):
        for message in results("with_secrets", 2, given=[self.file("ours"), None]):
            self.assertIn("encryption", message)

    def test_a_file_that_others_may_read_is_refused(self):
        ours = self.file("ours", mode=0o644)
        for message in results("with_secrets", 2, given=[ours, ours]):
            self.assertIn("chmod 600", message)


class Strangers(unittest.TestCase):
    def test_they_are_refused_counted_and_told(self):
        first, second = play("with_a_stranger", 2)
        self.assertEqual((first.result, second.result), (1, 0), first.errors + second.errors)
        self.assertIn("rank 0 has refused 1 connection of strangers", first.errors)
        self.assertNotIn("refused", second.errors)


class WrongSecrets(unittest.TestCase):
    def test_messages_say_what_to_do(self):
        for security, part in (
            (Security(secret=b"short"), "32 random bytes"),
            (Security(secret=5), "path of a file"),
            (Security(tls_cert=5), "tls_cert="),
        ):
            with self.assertRaisesRegex(gradwire.Error, part):
                security.check()

    def test_a_secret_is_not_printed(self):
        self.assertNotIn("xxxx", repr(Security(secret=b"x" * 32)))


if __name__ == "__main__":
    unittest.main()
