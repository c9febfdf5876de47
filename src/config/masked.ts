import { allSchemas, maskedSettings } from '../policies/facts.ts';
import { eachMark, maskedNames } from '../schema/index.ts';
import { documentSchema } from './schema/document.ts';

/** Fields of the model that dumps mask, by the marks of the schema: those of policies, and all others. */
export const maskedFields = { settings: maskedSettings, fields: fieldsOutsidePolicies() };

function fieldsOutsidePolicies(): ReadonlySet<string> {
  const ofPolicies = new Set<unknown>();
  for (const schema of allSchemas) eachMark(schema, (_path, _mark, field) => ofPolicies.add(field));
  return maskedNames(documentSchema, (field) => !ofPolicies.has(field));
}
