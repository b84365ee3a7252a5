// Nest keeps these keys in an internal module that moved between its versions 11 and 12; the keys themselves did not change.
// https://github.com/nestjs/nest/blob/master/packages/common/constants.ts

export const ROUTE_PATH = 'path'
export const MESSAGE_PATTERN = 'microservices:pattern'
export const HTTP_CODE = '__httpCode__'
export const ROUTE_ARGUMENTS = '__routeArguments__'
export const RESPONSE_PASSTHROUGH = '__responsePassthrough__'
export const SERVER_SENT_EVENTS = '__sse__'

/** `RouteParamtypes.RESPONSE` and `RouteParamtypes.NEXT`, as the keys of route arguments begin. */
export const RESPONSE_ARGUMENT = '1'
export const NEXT_ARGUMENT = '2'

/** Where the class of a method with `@IdempotentWebhook()` keeps the method's name. */
export const HANDLER_NAMES = 'nestjs-webhook-idempotency:handler-names'

/** Where `@IdempotentWebhook()` leaves its options; a key of its own, so that a second copy of this library reads the same. */
export const HANDLER_METADATA = 'nestjs-webhook-idempotency:handler'
