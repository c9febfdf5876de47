import { yaml } from '@codemirror/lang-yaml';
import { linter, lintGutter, type Diagnostic } from '@codemirror/lint';
import { EditorState, type Extension } from '@codemirror/state';
import { useMemo } from 'react';
import { useSchema } from '../api/configuration.ts';
import type { ConfigProblem } from '../api/types.ts';
import { Editor } from '../editor/Editor.tsx';
import { schemaCompletion } from './completion.ts';
import type { Extent } from './yamlScalar.ts';

const none: readonly ConfigProblem[] = [];

/** The editor of the configuration: completion by the schema, problems at their place. */
export function YamlEditor(props: {
  value: string;
  onChange: (value: string) => void;
  readOnly: boolean;
  problems?: readonly ConfigProblem[] | undefined;
  warnings?: readonly ConfigProblem[] | undefined;
  select?: Extent | undefined;
}) {
  const { value, onChange, readOnly, problems = none, warnings = none, select } = props;
  const schema = useSchema().data;
  const extensions = useMemo(
    (): Extension => [
      yaml(),
      EditorState.readOnly.of(readOnly),
      schema === undefined ? [] : schemaCompletion(schema),
      lintGutter(),
      linter(({ state }) => [
        ...problems.flatMap((problem) => diagnostic(state, problem, 'error')),
        ...warnings.flatMap((problem) => diagnostic(state, problem, 'warning')),
      ]),
    ],
    [schema, problems, warnings, readOnly],
  );
  return (
    <Editor
      label="Configuration as YAML"
      value={value}
      onChange={onChange}
      extensions={extensions}
      select={select}
    />
  );
}

function diagnostic(
  { doc }: EditorState,
  { line, column = 1, message, hint }: ConfigProblem,
  severity: Diagnostic['severity'],
): Diagnostic[] {
  if (line === undefined || line < 1 || line > doc.lines) return [];
  const place = doc.line(line);
  const from = Math.min(place.from + column - 1, place.to);
  return [{ from, to: place.to, severity, message: hint === undefined ? message : `${message} (${hint})` }];
}
