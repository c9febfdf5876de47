import { NativeSelect, Stack, Textarea, TextInput } from '@mantine/core';
import type { FormValues } from './arguments.ts';
import type { InputSchema, PropertySchema } from './mcpSession.ts';

/** A form for the arguments of a tool, made from its schema. */
export function ArgumentForm(props: {
  schema: InputSchema;
  values: FormValues;
  onChange: (values: FormValues) => void;
}) {
  const { schema, values, onChange } = props;
  return (
    <Stack gap="xs">
      {Object.entries(schema.properties ?? {}).map(([name, property]) => (
        <Field
          key={name}
          name={name}
          property={property}
          required={schema.required?.includes(name) === true}
          value={values[name] ?? ''}
          onChange={(value) => onChange({ ...values, [name]: value })}
        />
      ))}
    </Stack>
  );
}

function Field(props: {
  name: string;
  property: PropertySchema;
  required: boolean;
  value: string;
  onChange: (value: string) => void;
}) {
  const { name, property, required, value, onChange } = props;
  const common = { label: name, description: property.description, required, withAsterisk: required };
  const choices = property.type === 'boolean' ? [true, false] : property.enum;
  if (choices !== undefined)
    return (
      <NativeSelect
        {...common}
        value={value}
        data={['', ...choices.map(String)]}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      />
    );
  if (property.type === 'string' || property.type === 'number' || property.type === 'integer')
    return (
      <TextInput
        {...common}
        inputMode={property.type === 'string' ? 'text' : 'numeric'}
        placeholder={property.default === undefined ? '' : `default ${JSON.stringify(property.default)}`}
        value={value}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      />
    );
  return (
    <Textarea
      {...common}
      className="mono"
      placeholder="JSON"
      autosize
      minRows={2}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}
