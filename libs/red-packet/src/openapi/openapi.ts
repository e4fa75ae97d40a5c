import type { Type } from '@nestjs/common';
import { RedPacketPayoutsController } from '../payouts/payouts.controller';
import { RedPacketController } from '../red-packet.controller';
import { schemas, type Schema } from './schemas';

type Decorate = (options: object) => MethodDecorator & ClassDecorator;

/** What is used of `@nestjs/swagger`. */
interface Swagger {
  readonly ApiTags: (...tags: string[]) => ClassDecorator;
  readonly ApiOperation: Decorate;
  readonly ApiParam: Decorate;
  readonly ApiQuery: Decorate;
  readonly ApiBody: Decorate;
  readonly ApiResponse: Decorate;
  readonly ApiSecurity: (name: string) => MethodDecorator & ClassDecorator;
}

/** Names of the app's security schemes, as `DocumentBuilder.addSecurity` has them. */
export interface OpenApiSecurity {
  /** How `identity` knows a user. Default none. */
  readonly user?: string;
  /** What `adminGuard` demands. Default none. */
  readonly admin?: string;
}

interface Route {
  readonly summary: string;
  readonly answer: Schema;
  readonly status?: number;
  readonly body?: Schema;
  readonly query?: Readonly<Record<string, Schema>>;
  /** What it answers else, beside 400 for bad input and 503 while Redis is away. */
  readonly refusals: readonly (401 | 403 | 404 | 409)[];
}

const REASONS = {
  400: 'Something in the request is wrong, and named',
  401: 'Nobody is known by the request',
  403: 'The caller is no admin, or admin routes are closed',
  404: 'There is no such thing',
  409: 'The id is taken by other figures',
  503: 'Redis did not answer; the request may be sent again',
} as const;

const pageQuery = (maximum: number): Record<string, Schema> => ({
  cursor: { type: 'string' },
  limit: { type: 'integer', minimum: 1, maximum },
});

const RED_PACKETS: Readonly<Record<string, Route>> = {
  create: {
    summary: 'Creates an activity',
    answer: schemas.created,
    status: 201,
    body: schemas.create,
    refusals: [403, 409],
  },
  grab: { summary: 'Grabs a packet for the user of the request', answer: schemas.grab, refusals: [401] },
  status: { summary: 'Where an activity stands', answer: schemas.status, refusals: [404] },
  mine: { summary: "The packet of the request's user", answer: schemas.packet, refusals: [401, 404] },
  results: {
    summary: 'What the winners got, for a winner',
    answer: schemas.results,
    query: pageQuery(1_000),
    refusals: [401, 404],
  },
  luckiest: { summary: 'The largest packet granted so far', answer: schemas.grant, refusals: [403, 404] },
  pause: { summary: 'Refuses grabs until they are resumed', answer: schemas.state, refusals: [403, 404] },
  resume: { summary: 'Takes grabs again', answer: schemas.state, refusals: [403, 404] },
  close: { summary: 'Closes the activity and refunds what is left', answer: schemas.closed, refusals: [403, 404] },
  audit: {
    summary: 'Checks the books',
    answer: schemas.audit,
    query: { deep: { type: 'boolean' } },
    refusals: [403, 404],
  },
  records: { summary: 'A page of grants', answer: schemas.records, query: pageQuery(1_000), refusals: [403] },
};

const PAYOUTS: Readonly<Record<string, Route>> = {
  stats: { summary: 'How the payouts of an activity stand', answer: schemas.payouts, refusals: [403, 404] },
  dead: {
    summary: 'Payouts that were given up',
    answer: schemas.dead,
    query: pageQuery(500),
    refusals: [403],
  },
  replay: {
    summary: 'Hands payouts out again that were given up',
    answer: schemas.replayed,
    body: schemas.ids,
    refusals: [403],
  },
};

let described = false;

/** Describes the routes for `@nestjs/swagger`, once, where the app has it. */
export function describeRoutes(security: OpenApiSecurity = {}): void {
  if (described) return;
  described = true;
  const swagger = load();
  if (swagger === undefined) return;
  describe(swagger, RedPacketController, RED_PACKETS, security);
  describe(swagger, RedPacketPayoutsController, PAYOUTS, security);
}

function load(): Swagger | undefined {
  // An import would demand it of everybody, and so would a bundler for a require outside of `try`.
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
  const { summary, answer, status = 200, body, query = {}, refusals } = route;
  const errors = [400, ...refusals, 503] as const;
  return [
    swagger.ApiOperation({ summary }),
    ...(name === 'create' ? [] : [swagger.ApiParam({ name: 'activityId', schema: { type: 'string' } })]),
    ...Object.entries(query).map(([key, schema]) => swagger.ApiQuery({ name: key, required: false, schema })),
    ...(body === undefined ? [] : [swagger.ApiBody({ schema: body })]),
    swagger.ApiResponse({ status, description: summary, schema: answer }),
    ...errors.map((code) => swagger.ApiResponse({ status: code, description: REASONS[code] })),
  ];
}
