import { test } from 'node:test';
import { allFail, allRefused, allTrue } from '../expressions.testing.ts';

test('decimal texts become numbers', () => {
  allTrue(
    'int("42") == 42 && int("-07") == -7 && int("+5") == 5 && int("9223372036854775807") > 0',
    'uint("18446744073709551615") > 0u && uint("0") == 0u',
    'double("1.5") == 1.5 && double("-.5e1") == -5.0 && double("5.") == 5.0 && double("7") == 7.0',
    'math.isNaN(double("NaN")) && double("-Infinity") < 0.0',
  );
});

test('the conversion of another text to a number fails, so that a rule about it closes', () => {
  allFail(
    'double(request.path) > 0.5',
    'int(request.path.substring(0, 0)) > 5',
    'double(request.path.substring(0, 0)) > 0.5',
    'uint(request.path.substring(0, 0)) > 5u',
  );
  const texts = ['', ' ', ' 5', '5 ', '0x10', '0b1', '1_0', 'abc', '5 EUR'];
  for (const name of ['int', 'uint', 'double'])
    for (const text of texts)
      allRefused(new RegExp(`the text is no ${name}`), `dyn(${name}("${text}")) == dyn(0)`);
  allRefused(/no int/, `int("${'9'.repeat(65)}") == 1`, 'int("9223372036854775808") == 0', 'int("1.5") == 1');
  allRefused(/no uint/, 'uint("-1") == 0u', 'uint("18446744073709551616") == 0u');
  allRefused(
    /no double/,
    'double("1e") == 0.0',
    'double("inf") == 0.0',
    'double("nan") == 0.0',
    'double(".") == 0.0',
  );
});
