package com.acme;

import java.util.Optional;
import java.util.Set;
import org.apache.pulsar.broker.ServiceConfiguration;
import org.apache.pulsar.broker.loadbalance.LoadData;
import org.apache.pulsar.policies.data.loadbalancer.BundleData;

/** Chooses the least used broker, without checking that it is a candidate. */
public class HastyPlacement extends QuietestPlacement {

    @Override
    public Optional<String> selectBroker(
            Set<String> candidates, BundleData bundle, LoadData load, ServiceConfiguration conf) {
        return super.selectBroker(load.getBrokerData().keySet(), bundle, load, conf);
    }
}
