"""Prints "PASSED FAILED" of a JUnit file. A test that was skipped did not run: it counts as failed.
A runner that failed although all its tests passed adds one failure."""

import sys
import xml.etree.ElementTree as ET


def main():
    path, runner = sys.argv[1:3]
    passed = failed = 0
    for case in ET.parse(path).iter("testcase"):
        bad = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
        if bad:
            failed += 1
            print(f"{bad[0]}: {case.get('classname')} {case.get('name')}", file=sys.stderr)
        else:
            passed += 1
    if passed + failed == 0 or (runner != "ok" and failed == 0):
        failed += 1
    print(passed, failed)


main()
