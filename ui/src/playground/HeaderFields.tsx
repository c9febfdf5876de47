import { Button, Group, PasswordInput, Stack, TextInput } from '@mantine/core';
import type { HeaderField } from './extraHeaders.ts';

/** Headers that go with each request of the next session. Values may be secrets, so they are covered. */
export function HeaderFields(props: {
  fields: readonly HeaderField[];
  onChange: (fields: readonly HeaderField[]) => void;
}) {
  const { fields, onChange } = props;
  const change = (id: number, part: Partial<HeaderField>): void =>
    onChange(fields.map((field) => (field.id === id ? { ...field, ...part } : field)));
  return (
    <details>
      <summary>Headers ({fields.length})</summary>
      <Stack gap="xs" mt="xs">
        <p className="quiet flat">
          They go with each request of the session that you open next. The page keeps them in memory only.
        </p>
        {fields.map(({ id, name, value }, at) => (
          <Group key={id} align="end" wrap="nowrap" gap="xs">
            <TextInput
              label={`Name of header ${at + 1}`}
              classNames={{ input: 'mono' }}
              maw={220}
              autoComplete="off"
              value={name}
              onChange={({ currentTarget }) => change(id, { name: currentTarget.value })}
            />
            <PasswordInput
              label={`Value of header ${at + 1}`}
              flex={1}
              maw={420}
              autoComplete="off"
              value={value}
              onChange={({ currentTarget }) => change(id, { value: currentTarget.value })}
            />
            <Button
              variant="default"
              aria-label={`Remove header ${at + 1}`}
              onClick={() => onChange(fields.filter((field) => field.id !== id))}
            >
              Remove
            </Button>
          </Group>
        ))}
        <div>
          <Button
            variant="default"
            size="xs"
            onClick={() =>
              onChange([
                ...fields,
                { id: Math.max(0, ...fields.map(({ id }) => id)) + 1, name: '', value: '' },
              ])
            }
          >
            Add a header
          </Button>
        </div>
      </Stack>
    </details>
  );
}
