import { itemAttributes } from '../../../src/policies/attributes/declared.ts';

/** A variable of expressions. */
export interface CelName {
  readonly name: string;
  readonly type: string;
}

/** The tree of variables, as the gateway declares it. */
type Declared = (typeof itemAttributes)[string];

/** The variables that rules about MCP items can use, with their types; the shorter names come first. */
export const celNames: readonly CelName[] = Object.entries(itemAttributes)
  .flatMap(([name, declared]) => namesOf(name, declared))
  .toSorted((a, b) => a.name.localeCompare(b.name));

function namesOf(name: string, declared: Declared): CelName[] {
  switch (declared.kind) {
    case 'value':
      return [{ name, type: declared.type }];
    case 'object':
      return Object.entries(declared.members).flatMap(([member, each]) => namesOf(`${name}.${member}`, each));
    case 'claims':
    case 'headers':
      return [{ name, type: 'map' }];
    case 'absent':
      return [];
  }
}
