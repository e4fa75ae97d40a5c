import type { Type } from '@nestjs/common';
import { RedPacketPayoutsController } from '../payouts/payouts.controller';
import { RedPacketController } from '../red-packet.controller';
import { schemas, type Schema } from './schemas';

type Decorate = (options: object) => MethodDecorator & ClassDecorator;

interface Swagger {
  readonly ApiTags: (...tags: string[]) => ClassDecorator;
  readonly ApiOperation: Decorate;
  readonly ApiParam: Decorate;
  readonly ApiQuery: Decorate;
  readonly ApiBody: Decorate;
  readonly ApiResponse: Decorate;
  readonly ApiSecurity: (name: string) => MethodDecorator & ClassDecorator;
}

/** Names of the app's security schemes for OpenAPI. */
interface OpenApiSecurity {
  readonly user?: string;
  readonly admin?: string;
}

interface Route {
  readonly summary: string;
  readonly response: Schema;
  readonly status?: number;
  readonly body?: Schema;
  readonly query?: Readonly<Record<string, Schema>>;
  /** HTTP statuses of refusals. All routes also have 400 for invalid input and 503 if Redis fails. */
  readonly refusals: readonly (401 | 403 | 404 | 409)[];
}

const REASONS = {
  400: 'The request is invalid; the message says why',
  401: 'The request has no authenticated user',
  403: 'The caller is not an admin, or admin routes are closed',
  404: 'Not found',
  409: 'The id is used by an activity with other parameters, or the activity could not be created completely',
  503: 'Redis did not answer or refused the request, which may be repeated',
} as const;

const pageQuery = (maximum: number): Record<string, Schema> => ({
  cursor: { type: 'string' },
  limit: { type: 'integer', minimum: 1, maximum },
});

const RED_PACKETS: Readonly<Record<string, Route>> = {
  create: {
    summary: 'Creates an activity',
    response: schemas.created,
    status: 201,
    body: schemas.create,
    refusals: [403, 409],
  },
  grab: { summary: 'Grabs a packet for the user of the request', response: schemas.grab, refusals: [401] },
  status: { summary: 'Reads the state of an activity', response: schemas.status, refusals: [404] },
  mine: { summary: "Reads the packet of the request's user", response: schemas.packet, refusals: [401, 404] },
  results: {
    summary: 'Lists the packets of all winners; only a winner may read them',
    response: schemas.results,
    query: pageQuery(1_000),
    refusals: [401, 404],
  },
  luckiest: { summary: 'Reads the largest packet granted so far', response: schemas.grant, refusals: [403, 404] },
  pause: { summary: 'Pauses grabs', response: schemas.state, refusals: [403, 404] },
  resume: { summary: 'Resumes grabs', response: schemas.state, refusals: [403, 404] },
  close: {
    summary: 'Closes an activity and refunds the packets that are left',
    response: schemas.closed,
    refusals: [403, 404],
  },
  audit: {
    summary: 'Audits an activity',
    response: schemas.audit,
    query: { deep: { type: 'boolean' } },
    refusals: [403, 404],
  },
  records: { summary: 'Lists grants', response: schemas.records, query: pageQuery(1_000), refusals: [403] },
};

const PAYOUTS: Readonly<Record<string, Route>> = {
  stats: { summary: 'Reads the state of the payouts of an activity', response: schemas.payouts, refusals: [403, 404] },
  deadLetters: {
    summary: 'Lists dead-lettered payouts',
    response: schemas.deadLetters,
    query: pageQuery(500),
    refusals: [403],
  },
  replay: {
    summary: 'Replays dead-lettered payouts',
    response: schemas.replayed,
    body: schemas.ids,
    refusals: [403],
  },
  replayAll: { summary: 'Replays all dead-lettered payouts', response: schemas.replayed, refusals: [403] },
};

let described = false;

/**
 * Adds the routes to the app's OpenAPI document, if `@nestjs/swagger` can be loaded. Only the first call of a process does this.
 */
export function describeRoutes(security: OpenApiSecurity = {}): void {
  if (described) return;
  described = true;
  const swagger = load();
  if (swagger === undefined) return;
  describe(swagger, RedPacketController, RED_PACKETS, security);
  describe(swagger, RedPacketPayoutsController, PAYOUTS, security);
}

function load(): Swagger | undefined {
  // An app need not install this package. A static import, or a `require` outside of `try`, would fail without it.
  try {
    // eslint-disable-next-line @typescript-eslint/no-require-imports
    return require('@nestjs/swagger') as Swagger;
  } catch {
    return undefined;
  }
}

function describe(
  swagger: Swagger,
  controller: Type,
  routes: Readonly<Record<string, Route>>,
  security: OpenApiSecurity,
): void {
  swagger.ApiTags('red-packets')(controller);
  const prototype = controller.prototype as object;
  for (const [name, route] of Object.entries(routes)) {
    const descriptor = Object.getOwnPropertyDescriptor(prototype, name) as PropertyDescriptor;
    const scheme = route.refusals.includes(401)
      ? security.user
      : route.refusals.includes(403)
        ? security.admin
        : undefined;
    const secured = scheme === undefined ? [] : [swagger.ApiSecurity(scheme)];
    for (const decorate of [...secured, ...decorators(swagger, name, route)]) decorate(prototype, name, descriptor);
  }
}

function decorators(swagger: Swagger, name: string, route: Route): MethodDecorator[] {
  const { summary, response, status = 200, body, query = {}, refusals } = route;
  const errors = [400, ...refusals, 503] as const;
  return [
    swagger.ApiOperation({ summary }),
    ...(name === 'create' ? [] : [swagger.ApiParam({ name: 'activityId', schema: { type: 'string' } })]),
    ...Object.entries(query).map(([key, schema]) => swagger.ApiQuery({ name: key, required: false, schema })),
    ...(body === undefined ? [] : [swagger.ApiBody({ schema: body })]),
    swagger.ApiResponse({ status, description: summary, schema: response }),
    ...errors.map((code) => swagger.ApiResponse({ status: code, description: REASONS[code] })),
  ];
}
