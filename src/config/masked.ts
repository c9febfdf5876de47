import { allSchemas, maskedSettings } from '../policies/facts.ts';
import { eachMark, maskedNames } from '../schema/index.ts';
import { documentSchema } from './schema/document.ts';

let settings: ReturnType<typeof maskedSettings> | undefined;
let fields: ReadonlySet<string> | undefined;

/**
 * Fields of the model that dumps mask, by the marks of the schema: those of policies, and all others. The first dump
 * collects them: a start needs none, and would spend a tenth of its time on them.
 */
export const maskedFields = {
  get settings(): ReturnType<typeof maskedSettings> {
    return (settings ??= maskedSettings());
  },
  get fields(): ReadonlySet<string> {
    return (fields ??= fieldsOutsidePolicies());
  },
};

function fieldsOutsidePolicies(): ReadonlySet<string> {
  const ofPolicies = new Set<unknown>();
  for (const schema of allSchemas) eachMark(schema, (_path, _mark, field) => ofPolicies.add(field));
  return maskedNames(documentSchema, (field) => !ofPolicies.has(field));
}
