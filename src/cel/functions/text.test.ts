import { test } from 'node:test';
import { allFail, allRefused, allTrue } from '../expressions.testing.ts';

test('prefixes and suffixes are taken off where they are', () => {
  allTrue(
    '"/api/x".stripPrefix("/api") == "/x"',
    '"/x".stripPrefix("/api") == "/x"',
    '"a.json".stripSuffix(".json") == "a"',
    '"a".stripSuffix("b") == "a"',
    '"a".stripSuffix("") == "a"',
  );
});

test('regular expressions match anywhere, replace every match and know groups', () => {
  allTrue(
    '"/id/1234/data".regexReplace("/id/[0-9]*/", "/id/{id}/") == "/id/{id}/data"',
    '"a1b22".regexReplace("[0-9]+", "#") == "a#b#"',
    '"user@host".regexReplace("(.*)@(.*)", "$2") == "host"',
    '"xay".matches("a")',
    'matches("xay", "^xay$")',
    '!request.method.matches("^P")',
  );
  allRefused(/error parsing regexp/, 'request.path.matches("(")', 'request.path.regexReplace("[", "")');
  allFail('request.path.matches(jwt.role + "(")');
});

test('the strings extension is there', () => {
  allTrue(
    '"Abc".lowerAscii() == "abc" && "Abc".upperAscii() == "ABC"',
    '"a,b".split(",") == ["a", "b"] && ["a", "b"].join("-") == "a-b"',
    '"abc".charAt(1) == "b" && "abc".indexOf("c") == 2 && "abca".lastIndexOf("a") == 3',
    '" a ".trim() == "a" && "aXa".replace("a", "b") == "bXb" && "abc".substring(1, 2) == "b"',
  );
});
