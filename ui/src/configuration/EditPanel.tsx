import { Button, Group, Stack } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useMutation } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { ApiError } from '../api/client.ts';
import { newestConfig, save, useCheck } from '../api/configuration.ts';
import { useSession } from '../api/queries.ts';
import type { ConfigText } from '../api/types.ts';
import { Failure } from '../parts/Failure.tsx';
import { Note } from '../parts/Note.tsx';
import { CheckReport } from './CheckReport.tsx';
import { YamlEditor } from './YamlEditor.tsx';

const DiffView = lazy(async () => ({ default: (await import('../editor/DiffView.tsx')).DiffView }));

/** The time without a keystroke after which the gateway checks the text. */
const checkMs = 500;

/** A version of the file that an edit is made from. */
interface Base {
  readonly text: string;
  readonly etag: string;
}

const isConflict = (error: Error | null): boolean => error instanceof ApiError && error.status === 412;

/** Edits the file: checks each edit, shows the difference, and saves text, so that comments survive. */
export function EditPanel({ config }: { config: ConfigText }) {
  const [base, setBase] = useState<Base>(config);
  const [text, setText] = useState(config.text);
  const [settled] = useDebouncedValue(text, checkMs);
  const changed = text !== base.text;
  /** A viewer sees a text without its secrets, so there is nothing to check. */
  const isViewer = useSession().data?.role !== 'operator';
  const check = useCheck(settled, settled !== base.text);
  const isChecked = changed && settled === text && check.data !== undefined;
  const saving = useMutation({
    mutationFn: () => save(text, base.etag),
    onSuccess: async () => setBase(await newestConfig()),
  });
  /** The text stays; the version of the others becomes the one that it is compared with. */
  const rebase = useMutation({
    mutationFn: newestConfig,
    onSuccess: (newest) => {
      setBase(newest);
      saving.reset();
    },
  });
  const discard = (): void => {
    setText(base.text);
    saving.reset();
  };
  return (
    <Stack gap="sm">
      <YamlEditor
        value={text}
        readOnly={isViewer}
        onChange={(value) => {
          setText(value);
          if (saving.isSuccess) saving.reset();
        }}
        problems={changed ? check.data?.problems : undefined}
        warnings={changed ? check.data?.warnings : undefined}
      />
      {saving.isSuccess && <Note tone="good">The file is saved, and the gateway takes it into use.</Note>}
      {isConflict(saving.error) ? (
        <Note tone="bad">
          <p>
            <strong>The file has changed since you opened it, so nothing was saved.</strong> Compare your text
            with the newest version, then save again.
          </p>
          <Button mt="xs" variant="default" size="xs" onClick={() => rebase.mutate()}>
            Compare with the newest version
          </Button>
        </Note>
      ) : (
        saving.error !== null && <Failure error={saving.error} doing="Saving" />
      )}
      {changed && check.error !== null && <Failure error={check.error} doing="Checking the text" />}
      {changed && (
        <>
          {isChecked ? <CheckReport check={check.data} /> : <p className="quiet">Checking the text…</p>}
          <section aria-label="Difference">
            <Suspense fallback={null}>
              <DiffView before={base.text} after={settled} label="Difference from the saved file" />
            </Suspense>
          </section>
          <Group>
            {config.writable && (
              <Button
                disabled={!isChecked || !check.data.ok}
                loading={saving.isPending}
                onClick={() => saving.mutate()}
              >
                Save
              </Button>
            )}
            <Button variant="default" onClick={discard}>
              Discard the edit
            </Button>
          </Group>
        </>
      )}
    </Stack>
  );
}
