import type { ConfigProblem, ConfigViews } from '../admin/index.ts';
import type { ConfigFile, Problem, SecretTests } from '../config/index.ts';
import type { Model } from '../model/index.ts';
import { hideSecretForms, isSecretName, redacted } from '../telemetry/index.ts';
import type { PlaneView } from '../workers/index.ts';
import { configChanges } from './configChanges.ts';

export interface ConfigViewsOptions {
  readonly document: ConfigFile;
  /** The error of a write whose text has changed meanwhile. */
  readonly conflict: new (message: string) => Error;
  readonly schema: () => string;
  readonly mask: (text: string, mark: string, tests: SecretTests) => string | undefined;
  /** The tree of the text in use. @throws Error where the text cannot be read */
  readonly tree: ConfigViews['tree'];
  /** The model in use. */
  readonly model: () => Model | undefined;
  readonly sessions: () => Promise<PlaneView['mcp']>;
  /** A controller sends the configuration, and the text has settings of this process only. */
  readonly isControlled: boolean;
  /** The gateway takes the new text into use, as after every change of the file. */
  readonly onWritten: () => void;
}

/** A caller has sent the text, and knows no file. */
const shown = ({ file: _file, ...problem }: Problem): ConfigProblem => problem;

const holdsSecret = (value: string): boolean => hideSecretForms(value) !== value;

/** The views of the configuration as it is written. */
export function configViews(options: ConfigViewsOptions): ConfigViews {
  const { document, schema, model, mask } = options;
  /** Reading a large text takes long. */
  let masked: { readonly etag: string; readonly text: string | undefined } | undefined;
  return {
    read: () => document.read(),
    masked: ({ text, etag }) => {
      if (masked?.etag !== etag) masked = { etag, text: mask(text, redacted, { isSecretName, holdsSecret }) };
      return masked.text;
    },
    schema,
    tree: options.tree,
    whyReadOnly: () => {
      if (options.isControlled) return 'the controller of the cluster sends the configuration';
      return model()?.process.consoleWrites === true
        ? document.whyNotWritable
        : 'config.storage.mode is not file';
    },
    check: async (text) => {
      const result = await document.check(text);
      if (!result.ok) return { problems: result.problems.map(shown), warnings: [], changes: undefined };
      const used = model();
      const changes = used && (await configChanges(used, result.model, await options.sessions()));
      return { problems: [], warnings: result.warnings.map(shown), changes };
    },
    write: (text, etag) => {
      try {
        const written = document.write(text, etag);
        options.onWritten();
        return written.etag;
      } catch (error) {
        if (error instanceof options.conflict) return undefined;
        throw error;
      }
    },
  };
}
