import { NativeSelect } from '@mantine/core';

/** Adds one of several values to a list. */
export function AddSelect(props: {
  label: string;
  /** Shown where there is nothing to add. */
  empty: string;
  data: readonly { readonly value: string; readonly label: string }[];
  onAdd: (value: string) => void;
}) {
  const { label, empty, data, onAdd } = props;
  return (
    <NativeSelect
      label={label}
      w={300}
      maw="100%"
      value=""
      data={[{ value: '', label: data.length === 0 ? empty : `choose one of ${data.length}` }, ...data]}
      onChange={({ currentTarget }) => {
        if (currentTarget.value !== '') onAdd(currentTarget.value);
      }}
    />
  );
}
