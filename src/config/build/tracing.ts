import type { TracingSettings } from '../../model/index.ts';
import type { DocumentSettings } from '../schema/document.ts';
import { collectorOf, targetOf } from './otlp.ts';

const usualPath = '/v1/traces';

/** `frontendPolicies.tracing` before `config.tracing`, with defaults for the rest. */
export function buildTracing(document: DocumentSettings): TracingSettings | undefined {
  const own = document.config?.tracing;
  const policy = document.frontendPolicies?.tracing;
  if (own === undefined && policy === undefined) return undefined;
  const target = policy ? collectorOf(policy, document, usualPath) : targetOf(own ?? {}, usualPath);
  const add = { ...own?.fields?.add, ...policy?.attributes };
  const remove = [...new Set([...(own?.fields?.remove ?? []), ...(policy?.remove ?? [])])];
  const resources = { ...own?.resources, ...policy?.resources };
  const filter = policy?.filter ?? own?.filter;
  return {
    ...target,
    randomSampling: policy?.randomSampling ?? own?.randomSampling ?? false,
    clientSampling: policy?.clientSampling ?? own?.clientSampling ?? true,
    ...(Object.keys(add).length > 0 && { add }),
    ...(remove.length > 0 && { remove }),
    ...(Object.keys(resources).length > 0 && { resources }),
    ...(filter !== undefined && { filter }),
  };
}
