import type { CelValue } from '@bufbuild/cel';
import { isMessage } from '@bufbuild/protobuf';
import { compile, isProblem, newMeter, type Members } from '../../../src/cel/index.ts';
import type { Case } from './cases.ts';
import { bindings, verdict, type Failure } from './engine.ts';

/**
 * Is the case about what a rule of the gateway can hold? Its context is plain data under plain names, so cases about
 * protobuf messages and about names with dots are not.
 */
export function isAboutData({ test }: Case): boolean {
  const names = [...Object.keys(test.bindings), ...test.typeEnv.map((declared) => declared.name)];
  const declaresMessage = test.typeEnv.some(
    ({ declKind }) => declKind.case === 'ident' && declKind.value.type?.typeKind.case === 'messageType',
  );
  return (
    test.container === '' &&
    !declaresMessage &&
    !names.some((name) => name.includes('.')) &&
    !/google\.protobuf|cel\.expr|TestAllTypes|GlobalEnum/.test(test.expr) &&
    !Object.values(bindings(test.bindings)).some((value) => isMessage(value))
  );
}

/**
 * Runs a case as a rule of the gateway would be: checked at load, then by our own plan. A refusal is the right answer
 * where the case wants an error.
 */
export function runOnGateway({ test }: Case): Failure {
  const given = bindings(test.bindings);
  // Some cases have variables that no value is given for.
  const names = [...Object.keys(given), ...test.typeEnv.map((declared) => declared.name)];
  const variables: Members = Object.fromEntries(names.map((name) => [name, { kind: 'value', type: 'dyn' }]));
  const program = compile(test.expr, variables);
  if (isProblem(program)) return verdict(test, new Error(`refused: ${program.message}`));
  return verdict(test, program.run(given, newMeter()) as CelValue | Error);
}
