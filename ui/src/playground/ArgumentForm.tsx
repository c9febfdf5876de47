import { Checkbox, Group, NativeSelect, Stack, Textarea, TextInput } from '@mantine/core';
import { itemOptionsOf, optionsOf, type FormValues } from './arguments.ts';
import type { InputSchema, PropertySchema } from './mcpTypes.ts';

/** A form for the arguments of a tool, or for the answer to a server, made from its schema. */
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
  const common = {
    label: name,
    description: property.description ?? property.title,
    required,
    withAsterisk: required,
  };
  const take = ({ currentTarget }: { currentTarget: { value: string } }) => onChange(currentTarget.value);
  const options = optionsOf(property);
  if (options !== undefined)
    return (
      <NativeSelect {...common} value={value} data={[{ value: '', label: '' }, ...options]} onChange={take} />
    );
  const items = itemOptionsOf(property);
  if (items !== undefined)
    return (
      <Checkbox.Group
        {...common}
        value={listIn(value)}
        onChange={(chosen) => onChange(chosen.length === 0 ? '' : JSON.stringify(chosen))}
      >
        <Group gap="sm" mt={4}>
          {items.map((option) => (
            <Checkbox key={option.value} value={option.value} label={option.label} />
          ))}
        </Group>
      </Checkbox.Group>
    );
  if (property.type === 'string' || property.type === 'number' || property.type === 'integer')
    return (
      <TextInput
        {...common}
        inputMode={property.type === 'string' ? 'text' : 'numeric'}
        placeholder={property.default === undefined ? '' : `default ${JSON.stringify(property.default)}`}
        value={value}
        onChange={take}
      />
    );
  return (
    <Textarea
      {...common}
      classNames={{ input: 'mono' }}
      placeholder="JSON"
      autosize
      minRows={2}
      value={value}
      onChange={take}
    />
  );
}

/** The texts in a JSON list. */
function listIn(json: string): string[] {
  try {
    const value: unknown = JSON.parse(json);
    return Array.isArray(value) ? value.map(String) : [];
  } catch {
    return [];
  }
}
