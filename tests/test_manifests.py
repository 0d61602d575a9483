"""What a manifest says of where it was made."""

import subprocess

from tidegate.results import manifests


def repository(folder):
    for command in (
        ["init", "--quiet"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a", "commit", "--quiet", "--message", "theirs"],
    ):
        subprocess.run(["git", "-C", folder, *command], check=True, capture_output=True)
    return folder


def packaged(folder):
    """The package under a folder; gives its file of manifests."""
    place = folder / "tidegate/results"
    place.mkdir(parents=True)
    (place / "manifests.py").touch()
    return place / "manifests.py"


def test_a_foreign_repository_around_an_installed_package_is_not_its_own(tmp_path, monkeypatch):
    for number, place in enumerate(("lib/python3.11/site-packages", "python", "vendor/python")):
        root = tmp_path / str(number)
        monkeypatch.setattr(manifests, "__file__", str(packaged(root / place)))
        repository(root)
        assert manifests.git_revision() is None


def test_a_checkout_says_its_revision_whatever_the_environment(tmp_path, monkeypatch):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    monkeypatch.setattr(manifests, "__file__", str(packaged(ours / "python")))
    (ours / "crates/python").mkdir(parents=True)
    (ours / "crates/python/Cargo.toml").touch()
    assert manifests.git_revision() is None, "without a repository"
    repository(ours)
    theirs.mkdir()
    (theirs / "file").touch()
    repository(theirs)
    revision = manifests.git_revision()
    head = ["git", "-C", ours, "rev-parse", "HEAD"]
    output = subprocess.run(head, check=True, capture_output=True, text=True).stdout
    assert revision
    assert output.startswith(revision)
    monkeypatch.setenv("GIT_DIR", str(theirs / ".git"))
    manifests._describe.cache_clear()
    assert manifests.git_revision() == revision
