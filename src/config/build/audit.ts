import type { AuditSettings, AuditSink } from '../../model/index.ts';
import type { AuditDocument } from '../schema/audit.ts';

function buildSink(sink: AuditDocument['sink']): AuditSink {
  if (sink === 'stdout') return { kind: 'stdout' };
  const { file, http } = sink;
  if (file !== undefined) {
    const { path, rotation } = file;
    return {
      kind: 'file',
      path,
      ...(rotation && { rotation: { maxBytes: rotation.maxSize, keep: rotation.keep ?? 10 } }),
    };
  }
  if (http === undefined) throw new Error('the schema lets no sink without file and http pass');
  const { url, token, timeout } = http;
  return {
    kind: 'http',
    url,
    timeoutMs: timeout ?? 5_000,
    ...(token !== undefined && {
      token: typeof token === 'string' ? { kind: 'inline', text: token } : { kind: 'file', file: token.file },
    }),
  };
}

/** `config.audit` with its defaults. */
export function buildAudit(audit: AuditDocument): AuditSettings {
  const { chain, groupsClaim } = audit;
  const checkpoints = chain?.checkpoints;
  return {
    sink: buildSink(audit.sink),
    include: audit.include ?? ['calls', 'lists', 'sessions', 'refusals', 'admin'],
    arguments: audit.arguments ?? 'shape',
    redact: audit.redact ?? [],
    ...(groupsClaim === undefined ? {} : { groupsClaim }),
    ...(chain && {
      chain: {
        keyFile: chain.key.file,
        checkpointEveryMs: chain.checkpointInterval ?? 10_000,
        ...(typeof checkpoints === 'object' && { checkpointFile: checkpoints.file }),
      },
    }),
    required: audit.required ?? false,
  };
}
