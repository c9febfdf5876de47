import { useStatusEvery } from '../api/queries.ts';
import { Note } from '../parts/Note.tsx';

/** Tells whether the gateway uses a text that was saved. @param triedBefore the attempt before the save */
export function SaveReport({ triedBefore }: { triedBefore: string | null }) {
  const { data } = useStatusEvery(500);
  const config = data?.config;
  if (config === undefined || config.triedAt === triedBefore)
    return <Note>The file is saved. The gateway takes it into use…</Note>;
  if (config.synchronized) return <Note tone="good">The file is saved, and the gateway uses it.</Note>;
  return (
    <Note tone="bad">
      <p>
        <strong>The file is saved, but the gateway refuses it</strong> and goes on with the configuration
        before.
      </p>
      <ul>
        {config.problems.map((problem) => (
          <li key={problem}>{problem}</li>
        ))}
      </ul>
    </Note>
  );
}
