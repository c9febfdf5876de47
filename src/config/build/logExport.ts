import type { AccessFields, LogExportSettings } from '../../model/index.ts';
import type { DocumentSettings } from '../schema/document.ts';
import { collectorOf, targetOf } from './otlp.ts';

const usualPath = '/v1/logs';

/**
 * The export of the access log: that of `frontendPolicies` goes before that of `config`.
 * @param accessFields fields of the access log, which exported records have, too, unless the export has fields of its own
 */
export function buildLogExport(
  document: DocumentSettings,
  accessFields: AccessFields | undefined,
): LogExportSettings | undefined {
  const { config, frontendPolicies } = document;
  const own = config?.logging?.otlp;
  const policy = (frontendPolicies?.accessLog ?? frontendPolicies?.logging)?.otlp;
  const target = policy ? collectorOf(policy, document, usualPath) : own && targetOf(own, usualPath);
  if (target === undefined) return undefined;
  const given = policy ?? own;
  const filter = given?.filter ?? accessFields?.filter;
  const { add, remove } = given?.fields ?? accessFields ?? {};
  return {
    ...target,
    ...(filter !== undefined && { filter }),
    ...(add && { add }),
    ...(remove && { remove }),
  };
}
