import { getTestRegistry } from '@bufbuild/cel-spec/testdata/registry.js';
import { getConformanceSuite, type IncrementalTestSuite } from '@bufbuild/cel-spec/testdata/tests.js';
import type { SimpleTest } from '@bufbuild/cel-spec/cel/expr/conformance/test/simple_pb.js';

/** A case of the CEL specification's own test data. */
export interface Case {
  /** `file / section / name`; a second case of the same name gets `#2`. */
  readonly id: string;
  readonly file: string;
  readonly test: SimpleTest;
}

/** The protobuf messages that the cases name. */
export const registry = getTestRegistry();

/** Every case, in the order of the data. */
export function allCases(): Case[] {
  const cases: Case[] = [];
  const seen = new Map<string, number>();
  const visit = (suite: IncrementalTestSuite, file: string, trail: readonly string[]): void => {
    for (const { original, name } of suite.tests) {
      const plain = [...trail, name].join(' / ');
      const times = (seen.get(plain) ?? 0) + 1;
      seen.set(plain, times);
      cases.push({ id: times === 1 ? plain : `${plain} #${times}`, file, test: original });
    }
    for (const inner of suite.suites) visit(inner, file, [...trail, inner.name]);
  };
  for (const file of getConformanceSuite().suites) visit(file, file.name, [file.name]);
  return cases;
}
