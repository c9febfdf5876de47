import { Button, Group, Stack } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useMutation } from '@tanstack/react-query';
import { lazy, Suspense, useEffect, useState } from 'react';
import { ApiError } from '../api/client.ts';
import { newestConfig, save, useCheck } from '../api/configuration.ts';
import { readStatus, useSession } from '../api/queries.ts';
import type { ConfigText } from '../api/types.ts';
import { draftOf, useDraft } from '../parts/drafts.ts';
import { Failure } from '../parts/Failure.tsx';
import { Note } from '../parts/Note.tsx';
import { Tag } from '../parts/Tag.tsx';
import { CheckReport } from './CheckReport.tsx';
import { configurationPage, type Draft } from './draft.ts';
import { HandedNote } from './HandedNote.tsx';
import type { HandedRule } from './ruleEdit.ts';
import { SaveReport } from './SaveReport.tsx';
import { YamlEditor } from './YamlEditor.tsx';

const DiffView = lazy(async () => ({ default: (await import('../editor/DiffView.tsx')).DiffView }));

/** The time without a keystroke after which the gateway checks the text. */
const checkMs = 500;

const isConflict = (error: Error | null): boolean => error instanceof ApiError && error.status === 412;

/** The rule that the page Rules handed over. */
function handedRule(): HandedRule | undefined {
  const state: unknown = history.state;
  if (typeof state !== 'object' || state === null || !('rule' in state)) return undefined;
  return state.rule as HandedRule;
}

/** Edits the file: checks each edit, shows the difference, and saves text, so that comments survive. */
export function EditPanel({ config }: { config: ConfigText }) {
  const [handed] = useState(handedRule);
  /** A reload must not select a place in another text. */
  useEffect(() => history.replaceState(null, ''), []);
  const [draft, keep] = useDraft<Draft>(configurationPage);
  const { base, text } = draft ?? { base: config, text: config.text };
  const [settled] = useDebouncedValue(text, checkMs);
  const changed = draft !== undefined;
  /** A viewer sees a text without its secrets, so there is nothing to check. */
  const isViewer = useSession().data?.role !== 'operator';
  const check = useCheck(settled, settled !== base.text);
  const isChecked = changed && settled === text && check.data !== undefined;
  const edit = (next: Draft): void => keep(next.text === next.base.text ? undefined : next);
  /** Resolves to the time of the attempt before, by which the outcome of this one is told. */
  const saving = useMutation({
    mutationFn: async () => {
      const { config: before } = await readStatus();
      await save(text, base.etag);
      return { triedBefore: before.triedAt };
    },
    onSuccess: async () => {
      const newest = await newestConfig();
      edit({ base: newest, text: draftOf<Draft>(configurationPage)?.text ?? newest.text });
    },
  });
  /** The text stays; the version of the others becomes the one that it is compared with. */
  const rebase = useMutation({
    mutationFn: newestConfig,
    onSuccess: (newest) => {
      edit({ base: newest, text });
      saving.reset();
    },
  });
  const discard = (): void => {
    keep(undefined);
    saving.reset();
  };
  return (
    <Stack gap="sm">
      {handed?.refusal !== undefined && <HandedNote handed={handed} />}
      <YamlEditor
        value={text}
        select={handed?.select}
        readOnly={isViewer}
        onChange={(value) => {
          edit({ base, text: value });
          if (saving.isSuccess && value !== text) saving.reset();
        }}
        problems={changed ? check.data?.problems : undefined}
        warnings={changed ? check.data?.warnings : undefined}
      />
      {saving.isSuccess && <SaveReport triedBefore={saving.data.triedBefore} />}
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
            <Tag tone="warn">Unsaved edit</Tag>
          </Group>
        </>
      )}
    </Stack>
  );
}
