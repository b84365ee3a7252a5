import type { InjectionToken } from '@nestjs/common'
import type { ModulesContainer } from '@nestjs/core'

/** Whether anything that the application has made was given the provider of a token. */
export function isInjected(modules: ModulesContainer, token: InjectionToken): boolean {
  for (const { providers, controllers, injectables } of modules.values()) {
    for (const wrapper of [...providers.values(), ...controllers.values(), ...injectables.values()]) {
      const byConstructor = wrapper.getCtorMetadata() ?? []
      const byProperty = wrapper.getPropertiesMetadata()?.map((property) => property.wrapper) ?? []
      if ([...byConstructor, ...byProperty].some((injected) => injected?.token === token)) return true
    }
  }
  return false
}
