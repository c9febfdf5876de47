/** Reading, checking and saving the configuration. */

import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { ask } from './client.ts';
import { queryClient } from './queries.ts';
import type { CheckedText, ConfigText } from './types.ts';
import type { Schema } from '../configuration/schemaWords.ts';

const readConfig = (): Promise<ConfigText> => ask<ConfigText>('config');

/** The configuration as written, and the model in use. Not read again by itself: the text may be edited. */
export const useConfigText = (): UseQueryResult<ConfigText> =>
  useQuery({
    queryKey: ['config'],
    queryFn: readConfig,
    staleTime: Infinity,
    refetchOnWindowFocus: false,
    refetchOnMount: 'always',
  });

/** The JSON Schema of the configuration. */
export const useSchema = (): UseQueryResult<Schema> =>
  useQuery({ queryKey: ['schema'], queryFn: () => ask<Schema>('schema'), staleTime: Infinity });

/** Judges a text without saving it; a text that was not changed is not judged. */
export const useCheck = (text: string, changed: boolean): UseQueryResult<CheckedText> =>
  useQuery({
    queryKey: ['check', text],
    queryFn: () => ask<CheckedText>('config/check', { method: 'POST', body: { text } }),
    enabled: changed,
    staleTime: Infinity,
    gcTime: 10_000,
  });

/**
 * Saves a text.
 * @param etag names the version that the text was made from
 * @throws ApiError 412 where the file has changed since, 422 with the problems of the text
 */
export async function save(text: string, etag: string): Promise<void> {
  await ask<unknown>('config', { method: 'PUT', body: { text }, headers: { 'if-match': etag } });
}

/** Reads the newest version of the file, for the whole console. */
export const newestConfig = (): Promise<ConfigText> =>
  queryClient.fetchQuery({ queryKey: ['config'], queryFn: readConfig, staleTime: 0 });
