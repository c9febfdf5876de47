/** An HTTP API as its OpenAPI description gives it: one tool for each operation, and the request that a call becomes. */

export interface DescribedApi {
  readonly title: string;
  readonly version: string;
  /** The description of the API as a whole, for clients. */
  readonly instructions?: string;
  readonly operations: readonly ApiOperation[];
}

export interface ApiOperation {
  /** The tool as clients see it: `name`, `description`, `inputSchema` and so on. */
  readonly tool: { readonly name: string } & Readonly<Record<string, unknown>>;
  /** In upper case. */
  readonly method: string;
  /** The path of the API at its first server, without a slash at its end; often empty. */
  readonly serverPath: string;
  /** The template, with the names of parameters in braces. */
  readonly path: string;
  readonly parameters: readonly ApiParameter[];
  readonly body?: ApiBody;
  /** The tool promises a JSON object (`outputSchema`). */
  readonly promisesObject: boolean;
}

export type ParameterPlace = 'path' | 'query' | 'header' | 'cookie';

/** The form in which a value is written (OpenAPI, "Style Values"); `json` for a parameter that has a media type. */
export type ParameterStyle =
  'simple' | 'label' | 'matrix' | 'form' | 'spaceDelimited' | 'pipeDelimited' | 'deepObject' | 'json';

export interface ValueForm {
  readonly style: ParameterStyle;
  readonly explode: boolean;
  /** Reserved characters stay as they are, as far as they cannot begin another parameter. */
  readonly allowReserved?: true;
  /** The members of an object that become names of their own (`explode`); without it, the value is no object. */
  readonly members?: ObjectMembers;
}

export interface ObjectMembers {
  readonly names: readonly string[];
  /** Members of other names are described, too. */
  readonly open?: true;
}

export interface ApiParameter extends ValueForm {
  readonly place: ParameterPlace;
  readonly name: string;
  readonly required: boolean;
  /** The types of its value, as JSON Schema names them; absent where the description does not say. */
  readonly types?: readonly string[];
}

/** The form of a request body. `bytes` are base64 in the arguments of a call. */
export type BodyForm = 'json' | 'form' | 'multipart' | 'text' | 'bytes';

export interface ApiBody {
  readonly form: BodyForm;
  /** The media type that the request names. */
  readonly type: string;
  readonly required: boolean;
  /** The properties of a form that are not written in the usual way. */
  readonly parts?: Readonly<Record<string, ApiPart>>;
  /** The names of the properties of a form, where the members of a part become names beside them. */
  readonly names?: readonly string[];
}

export interface ApiPart {
  /** The media type of the part. */
  readonly type?: string;
  /** The value is base64 in the arguments of a call. */
  readonly bytes?: true;
  /** A form that is not the usual one. */
  readonly value?: ValueForm;
}

/** Chooses operations of a description. */
export interface OperationFilter {
  readonly tags: readonly string[];
  /** Path templates; `*` stands for any characters. */
  readonly paths: readonly string[];
  /** Ids of operations, names of tools, or method and path. */
  readonly operations: readonly string[];
}

/** The tools that an operator wants of a description. */
export interface OperationChoice {
  /** Absent: every operation. */
  readonly include?: OperationFilter;
  /** Counts against `include`. */
  readonly exclude?: OperationFilter;
  /** Tools have no `outputSchema`, so an answer may have any form. */
  readonly outputSchemas?: false;
}

/** The source of a description: read with the configuration, or fetched while the gateway runs. */
export type ApiSource =
  | {
      readonly kind: 'read';
      readonly api: DescribedApi;
      /** Parts of the description that are left out, for the operator. */
      readonly warnings: readonly string[];
      /** The files besides the description itself that it was read from. */
      readonly files?: readonly string[];
    }
  | {
      readonly kind: 'url';
      readonly url: string;
      readonly choice: OperationChoice;
      /** Origins of other documents to which references may lead. */
      readonly references?: readonly string[];
    };
