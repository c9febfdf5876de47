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

test('places in a text count characters as size does', () => {
  allTrue(
    '"a😀b".charAt(1) == "😀" && "a😀b".charAt(2) == "b" && "a😀b".charAt(3) == ""',
    '"😀a.exe".with(t, t.substring(t.size() - 4)) == ".exe"',
    '"a😀b".substring(1, 2) == "😀" && "a😀b".substring(3) == ""',
    '"😀a😀a".indexOf("a") == 1 && "😀a😀a".indexOf("a", 2) == 3 && "😀".indexOf("a") == -1',
    '"😀a😀a".lastIndexOf("a") == 3 && "😀a😀a".lastIndexOf("a", 2) == 1',
    '"a😀b".split("") == ["a", "😀", "b"] && "a😀".replace("", "-") == "-a-😀-"',
  );
  allRefused(
    /out of bounds/,
    '"😀".charAt(2) == ""',
    '"😀".substring(0, 2) == ""',
    '"😀".indexOf("", 1) == 0',
  );
});

test('the last part of a split with a limit has the rest of the text', () => {
  allTrue(
    '"a:b:c".split(":", 2) == ["a", "b:c"] && "a:b".split(":", 5) == ["a", "b"]',
    '"a:b".split(":", 0) == [] && "a:b".split(":", 1) == ["a:b"] && "a:b:c".split(":", -1).size() == 3',
    '"abc".split("", 2) == ["a", "bc"] && "".split(":", 2) == [""]',
  );
});
