import { z } from 'zod';
import { requestAttributes } from '../attributes/declared.ts';
import { expression } from '../fields/expression.ts';
import type { TextSource } from '../text/schema.ts';
import { bearer, type Location } from '../token/schema.ts';
import { secret } from './secretText.ts';

/** A text that is the same for all requests, or an expression that comes to it. */
export type RequestText =
  | { readonly kind: 'fixed'; readonly value: string }
  | { readonly kind: 'expression'; readonly expression: string };

/** A role that the gateway assumes (AWS STS, AssumeRole). */
export interface AssumedRole {
  readonly roleArn: string;
  readonly sessionName: RequestText;
  /** Key → value, sorted by key. */
  readonly tags: readonly (readonly [key: string, value: RequestText])[];
}

/** Keys that the configuration names. */
export interface ExplicitAwsKeys {
  readonly accessKeyId: TextSource;
  readonly secretAccessKey: TextSource;
  readonly sessionToken?: TextSource;
}

/** Signatures of AWS. */
export interface AwsSettings {
  readonly kind: 'aws';
  /** Absent: those of the environment. */
  readonly secrets?: ExplicitAwsKeys;
  readonly assumeRole?: AssumedRole;
  /** Absent: that of the environment. */
  readonly region?: string;
  readonly serviceName: string;
  readonly location: Location;
}

/** STS, AssumeRole, RoleSessionName. */
const sessionNamePattern = /^[\w+=,.@-]{2,64}$/;
/** STS, Tag: the characters of keys and values. */
const tagPattern = /^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u;
const maxTagKey = 128;
const maxTagValue = 256;
const maxTags = 50;
/** The format signs for Bedrock where no service is named. */
const usualService = 'bedrock';

/** The problem of a session name; undefined where there is none. */
export const sessionNameProblem = (name: string): string | undefined =>
  sessionNamePattern.test(name) ? undefined : 'expected 2 to 64 letters, digits and characters of _+=,.@-';

/** The problem of the value of a session tag; undefined where there is none. */
export const tagValueProblem = (value: string): string | undefined =>
  tagPattern.test(value) && Array.from(value).length <= maxTagValue
    ? undefined
    : `expected at most ${String(maxTagValue)} letters, digits, spaces and characters of _.:/=+-@`;

const written = (value: string): RequestText => ({ kind: 'fixed', value });
const computed = (source: string): RequestText => ({ kind: 'expression', expression: source });

const sessionName = z
  .union([
    z.string(),
    z.strictObject({ expression: expression(requestAttributes, 'CEL expression that comes to the name.') }),
  ])
  .transform((value, ctx): RequestText => {
    if (typeof value !== 'string') return computed(value.expression);
    const message = sessionNameProblem(value);
    if (message !== undefined) ctx.addIssue({ code: 'custom', message });
    return written(value);
  })
  .meta({ description: 'Name of the session in the logs of AWS; portcullis where this is left out.' });

const tag = z
  .strictObject({
    key: z
      .string()
      .min(1)
      .max(maxTagKey)
      .regex(tagPattern, 'expected letters, digits, spaces and characters of _.:/=+-@')
      .meta({ description: 'Key of the tag.' }),
    value: z
      .string()
      .superRefine((text, ctx) => {
        const message = tagValueProblem(text);
        if (message !== undefined) ctx.addIssue({ code: 'custom', message });
      })
      .meta({ description: 'Value of the tag.' })
      .optional(),
    expression: expression(requestAttributes, 'CEL expression that comes to the value.').optional(),
  })
  .transform(({ key, value, expression: source }, ctx): AssumedRole['tags'][number] => {
    if ((value === undefined) === (source === undefined))
      ctx.addIssue({ code: 'custom', message: 'expected one of value, expression' });
    return [key, source === undefined ? written(value ?? '') : computed(source)];
  });

const assumeRole = z
  .strictObject({
    roleArn: z
      .string()
      .max(2_048)
      .regex(
        /^arn:[\w-]+:iam::\d{12}:role\/[\x21-\x7e]+$/,
        'expected the ARN of a role: arn:aws:iam::ACCOUNT:role/NAME',
      )
      .meta({ description: 'ARN of the role.' }),
    sessionName: sessionName.optional(),
    tags: z
      .array(tag)
      .max(maxTags)
      .default([])
      .meta({ description: 'Session tags, for the attribution of cost.' }),
  })
  .transform(({ roleArn, sessionName: name = written('portcullis'), tags }, ctx): AssumedRole => {
    const keys = tags.map(([key]) => key);
    const twice = keys.find((key, index) => keys.indexOf(key) !== index);
    if (twice !== undefined)
      ctx.addIssue({ code: 'custom', message: `two tags with the key ${twice}`, path: ['tags'] });
    return { roleArn, sessionName: name, tags: tags.toSorted(([one], [other]) => (one < other ? -1 : 1)) };
  })
  .meta({ description: 'A role that the gateway assumes with the credentials of its environment.' });

const scopePart = (description: string) =>
  z
    .string()
    .regex(/^[a-z\d][a-z\d-]{0,62}$/, 'expected lower-case letters, digits and hyphens')
    .meta({ description });

export const aws = z
  .strictObject({
    accessKeyId: secret.optional(),
    secretAccessKey: secret.optional(),
    sessionToken: secret.optional(),
    region: scopePart('Region of the service; that of the environment where this is left out.').optional(),
    serviceName: scopePart(
      'Signing name of the service, such as execute-api; bedrock where this is left out.',
    ).default(usualService),
    assumeRole: assumeRole.optional(),
  })
  .transform((given, ctx): AwsSettings => {
    const { accessKeyId, secretAccessKey, sessionToken, region, serviceName, assumeRole: role } = given;
    const issue = (field: string, message: string): void =>
      ctx.addIssue({ code: 'custom', message, path: [field] });
    const common = {
      kind: 'aws' as const,
      ...(region === undefined ? {} : { region }),
      serviceName,
      location: bearer,
    };
    if (accessKeyId === undefined && secretAccessKey === undefined && sessionToken === undefined)
      return { ...common, ...(role === undefined ? {} : { assumeRole: role }) };
    if (role !== undefined)
      issue(
        'assumeRole',
        'does not go with keys: the gateway assumes roles with the credentials of its environment',
      );
    if (accessKeyId === undefined || secretAccessKey === undefined) {
      issue(
        accessKeyId === undefined ? 'accessKeyId' : 'secretAccessKey',
        'accessKeyId and secretAccessKey go together',
      );
      return common;
    }
    const token = sessionToken === undefined ? {} : { sessionToken };
    return { ...common, secrets: { accessKeyId, secretAccessKey, ...token } };
  })
  .meta({ description: 'Signs requests for services of AWS (Signature Version 4).' });
