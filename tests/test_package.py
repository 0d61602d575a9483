import tidegate


def test_the_package_has_the_version_of_its_engine():
    from tidegate import _native

    assert tidegate.__version__ == _native.version()
