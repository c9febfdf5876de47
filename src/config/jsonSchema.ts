import { z } from 'zod';
import { documentSchema } from './schema/document.ts';
import { addSamples } from './fieldSamples.ts';
import { addWrittenDefaults } from './writtenDefaults.ts';

/** Names the schema, whatever its version is. It is no address to load it from. */
const id = 'https://portcullis.dev/schema/portcullis.schema.json';

/**
 * The JSON Schema of the configuration as text, for editors (`yaml-language-server`). Draft 7, because that is what
 * they know. Fields that this version refuses by name are in it as `not: {}`, so that an editor marks them too.
 */
export function configurationSchema(): string {
  const schema = z.toJSONSchema(documentSchema, {
    target: 'draft-7',
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema._zod.def.type === 'never')
        jsonSchema.description = 'Known, but not built yet in this version.';
      // Zod leaves `examples` of values that are transformed out: it takes them for results.
      if (Array.isArray(jsonSchema['samples'])) {
        jsonSchema.examples = jsonSchema['samples'];
        delete jsonSchema['samples'];
      }
      // `port: ${PORT}` is a string to an editor.
      if (jsonSchema.type === 'integer' || jsonSchema.type === 'number' || jsonSchema.type === 'boolean') {
        jsonSchema.type = [jsonSchema.type, 'string'] as unknown as 'string';
        jsonSchema.pattern = String.raw`^\$`;
      }
    },
  });
  addWrittenDefaults(schema);
  addSamples(schema);
  const { $schema, ...rest } = schema;
  return `${JSON.stringify({ $schema, $id: id, title: 'Portcullis configuration', ...rest }, null, 2)}\n`;
}
