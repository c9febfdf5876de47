import { resourceFromAttributes, type Resource } from '@opentelemetry/resources';
import { version } from '../version.ts';

/** Describes this process to the collector. The variables `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` do not count. */
export const resourceOf = (more: Readonly<Record<string, string | number | boolean>> = {}): Resource =>
  resourceFromAttributes({
    'service.name': 'portcullis',
    'service.version': version(),
    'process.pid': process.pid,
    ...more,
  });
